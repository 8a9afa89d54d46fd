// Package metrics keeps what the operator's page shows, under the names of the Prometheus ecosystem. The
// host makes one Metrics and hands it to the parts as their observer; what a part counts by itself is read
// from its Stats when somebody asks. Labels are names out of the configuration and words out of fixed
// lists: never a key, an address, a token or a URL. Nothing here survives a crash.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are all series of one process.
type Metrics struct {
	registry   *prometheus.Registry
	filters    filters
	tokens     tokens
	decisions  decisions
	commits    commits
	requests   requests
	upstreams  upstreams
	reloads    *prometheus.CounterVec
	generation prometheus.Gauge
}

// New makes the series that are there from the start. version is the program's.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.filters.register(m.registry)
	m.tokens.register(m.registry)
	m.decisions.register(m.registry)
	m.commits.register(m.registry)
	m.requests.register(m.registry)
	m.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_reloads_total",
		Help: "Attempts to replace the configuration, by result: applied, unchanged, refused.",
	}, []string{"result"})
	m.generation = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "porch_generation",
		Help: "Number of the live generation of the configuration, 1 after the start.",
	})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "porch_build_info",
		Help: "Always 1; the version of this program is its label.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.reloads, m.generation, build, &gauges{[]func(page){
		m.filters.collect, m.decisions.collect, m.commits.collect, m.requests.collect, m.upstreams.collect,
	}})
	for _, r := range []Reload{Applied, Unchanged, Refused} {
		m.reloads.WithLabelValues(string(r))
	}
	return m
}

// Reload is what came of an attempt to replace the configuration.
type Reload string

// The results of a reload.
const (
	Applied   Reload = "applied"
	Unchanged Reload = "unchanged"
	Refused   Reload = "refused"
)

// Reloaded counts an attempt.
func (m *Metrics) Reloaded(r Reload) { m.reloads.WithLabelValues(string(r)).Inc() }

// Live says which generation is live.
func (m *Metrics) Live(generation int) { m.generation.Set(float64(generation)) }

// Bounds of one page.
const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Handler serves the page.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		MaxRequestsInFlight: maxScrapes,
		Timeout:             scrapeTimeout,
	})
}

// durations are the bounds of histograms of time, in seconds: from a decision in memory to a disk that
// stalls.
var durations = []float64{
	10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}
