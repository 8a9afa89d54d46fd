package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// commits times what the store writes.
type commits struct {
	duration prometheus.Histogram
	rows     prometheus.Histogram
}

func (c *commits) register(r *prometheus.Registry) {
	c.duration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_store_commit_duration_seconds",
		Help:    "Time of one commit.",
		Buckets: durations,
	})
	c.rows = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_store_commit_rows",
		Help:    "Rows written by one commit.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 15),
	})
	r.MustRegister(c.duration, c.rows)
}

// Committed counts one commit.
func (m *Metrics) Committed(rows int, took time.Duration) {
	m.commits.rows.Observe(float64(rows))
	m.commits.duration.Observe(took.Seconds())
}
