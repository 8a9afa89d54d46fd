package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges are the series that are read from the parts when the page is asked for.
type gauges struct {
	collect []func(page)
}

// Describe implements prometheus.Collector. It describes nothing, so the registry takes what Collect
// gives: which series there are depends on what is open.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	for _, collect := range g.collect {
		collect(page{to})
	}
}

// page is one reading of the gauges.
type page struct{ to chan<- prometheus.Metric }

func (p page) gauge(d *prometheus.Desc, v int, labels ...string) {
	p.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
}

func (p page) seconds(d *prometheus.Desc, v time.Duration, labels ...string) {
	p.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v.Seconds(), labels...)
}

func (p page) counter(d *prometheus.Desc, v uint64, labels ...string) {
	p.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}
