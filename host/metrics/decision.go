package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// decisions times what the pool decides.
type decisions struct {
	duration *prometheus.HistogramVec
	children series[decision, prometheus.Observer]
}

type decision struct{ policy, kind, operation, outcome string }

func (d *decisions) register(r *prometheus.Registry) {
	d.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "porch_decision_duration_seconds",
		Help:    "Time from the question to the answer of the pool, by outcome: allowed, refused, execute, joined, replay, mismatch, or why there was no decision.",
		Buckets: durations,
	}, []string{"policy", "kind", "operation", "outcome"})
	r.MustRegister(d.duration)
}

// Decided counts one answer of the pool. policy is "<filter>/<name>"; the other words are out of fixed lists.
func (m *Metrics) Decided(policy, kind, operation, outcome string, took time.Duration) {
	d := &m.decisions
	d.children.get(decision{policy, kind, operation, outcome}, d.child).Observe(took.Seconds())
}

func (d *decisions) child(k decision) prometheus.Observer {
	return d.duration.WithLabelValues(k.policy, k.kind, k.operation, k.outcome)
}
