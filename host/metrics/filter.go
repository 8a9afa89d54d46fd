package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/porchedge/porch/host/wasm"
)

// filters counts the calls of guests and knows which versions are open. It is the observer of host/wasm.
type filters struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	fuel     *prometheus.CounterVec
	high     *prometheus.CounterVec
	failures *prometheus.CounterVec
	passed   *prometheus.CounterVec
	loads    *prometheus.CounterVec
	children series[call, *callSeries]
	open     sources[version, filterStats]
}

type version struct{ filter, id string }

// filterStats are the instances of one version, or of several summed up.
type filterStats struct {
	wasm.Stats
	versions int
}

type call struct{ filter, version, phase string }

type callSeries struct {
	calls    prometheus.Counter
	duration prometheus.Observer
	fuel     prometheus.Counter
	high     prometheus.Counter
}

func (f *filters) register(r *prometheus.Registry) {
	f.calls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_calls_total",
		Help: "Calls of filters, by phase: request, response.",
	}, []string{"filter", "version", "phase"})
	f.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "porch_filter_call_duration_seconds",
		Help:    "Time that the guest ran in one call, without the decisions that it asked for.",
		Buckets: durations,
	}, []string{"filter", "version", "phase"})
	f.fuel = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_fuel_units_total",
		Help: "Fuel that the calls of filters have used.",
	}, []string{"filter", "version", "phase"})
	f.high = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_fuel_high_calls_total",
		Help: "Calls that have used more than half of the fuel they had.",
	}, []string{"filter", "version", "phase"})
	f.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_failures_total",
		Help: "Calls that failed, by cause.",
	}, []string{"filter", "version", "cause"})
	f.passed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_passed_open_total",
		Help: "Requests that went on without a failed filter, since its failure policy is open.",
	}, []string{"filter"})
	f.loads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_filter_loads_total",
		Help: "Versions of a filter that were loaded.",
	}, []string{"filter"})
	r.MustRegister(f.calls, f.duration, f.fuel, f.high, f.failures, f.passed, f.loads)
}

// Called counts one call of a filter.
func (m *Metrics) Called(done wasm.Call) {
	f := &m.filters
	c := f.children.get(call{done.Filter, done.Version, done.Phase}, f.child)
	c.calls.Inc()
	c.duration.Observe(done.Took.Seconds())
	c.fuel.Add(float64(done.Fuel))
	if done.Fuel > done.Budget/2 {
		c.high.Inc()
	}
	if done.Cause != wasm.CauseNone {
		f.failures.WithLabelValues(done.Filter, done.Version, done.Cause.String()).Inc()
	}
}

func (f *filters) child(c call) *callSeries {
	return &callSeries{
		calls:    f.calls.WithLabelValues(c.filter, c.version, c.phase),
		duration: f.duration.WithLabelValues(c.filter, c.version, c.phase),
		fuel:     f.fuel.WithLabelValues(c.filter, c.version, c.phase),
		high:     f.high.WithLabelValues(c.filter, c.version, c.phase),
	}
}

// PassedOpen counts a request that went on without a failed filter.
func (m *Metrics) PassedOpen(filter string) { m.filters.passed.WithLabelValues(filter).Inc() }

// Opened counts a version that was loaded and shows its instances until closed is called. Its series are
// then deleted, so that their number is bounded by what is in use.
func (m *Metrics) Opened(filter, id string, stats func() wasm.Stats) (closed func()) {
	f := &m.filters
	f.loads.WithLabelValues(filter).Inc()
	v := version{filter, id}
	remove := f.open.add(v, func() filterStats { return filterStats{stats(), 1} })
	return func() {
		if remove() {
			f.forget(v)
		}
	}
}

func (f *filters) forget(v version) {
	f.children.forget(func(c call) bool { return c.filter == v.filter && c.version == v.id })
	labels := prometheus.Labels{"filter": v.filter, "version": v.id}
	f.calls.DeletePartialMatch(labels)
	f.duration.DeletePartialMatch(labels)
	f.fuel.DeletePartialMatch(labels)
	f.high.DeletePartialMatch(labels)
	f.failures.DeletePartialMatch(labels)
}

// collect writes the instances of the open versions.
func (f *filters) collect(p page) {
	open := map[string]int{}
	for v, s := range f.open.sum(addFilterStats) {
		p.gauge(instancesInUse, s.InUse, v.filter, v.id)
		p.gauge(instancesIdle, s.Idle, v.filter, v.id)
		p.gauge(instancesBound, s.Bound, v.filter, v.id)
		p.gauge(instancesWaiting, s.Waiting, v.filter, v.id)
		open[v.filter] += s.versions
	}
	for filter, n := range open {
		p.gauge(versions, n, filter)
	}
}

func addFilterStats(a, b filterStats) filterStats {
	return filterStats{
		wasm.Stats{
			InUse:   a.InUse + b.InUse,
			Idle:    a.Idle + b.Idle,
			Waiting: a.Waiting + b.Waiting,
			Bound:   a.Bound + b.Bound,
		},
		a.versions + b.versions,
	}
}

var (
	instancesInUse   = describe("porch_filter_instances_in_use", "Instances that run a call.", "filter", "version")
	instancesIdle    = describe("porch_filter_instances_idle", "Instances that wait for a call.", "filter", "version")
	instancesBound   = describe("porch_filter_instances_bound", "Most instances there may be.", "filter", "version")
	instancesWaiting = describe("porch_filter_instances_waiting", "Requests that wait for an instance.", "filter", "version")
	versions         = describe("porch_filter_versions", "Versions that are open: live, or draining after a reload.", "filter")
)
