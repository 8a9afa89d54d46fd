package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/porchedge/porch/store"
)

// commits shows what the store writes. It is the observer of store.
type commits struct {
	batch    prometheus.Histogram
	duration prometheus.Histogram
	durable  prometheus.Histogram
	size     prometheus.Histogram
	rows     prometheus.Counter
	bytes    prometheus.Counter
	open     sources[struct{}, store.Stats]
}

// sizes are the bounds of histograms of numbers that are decided together.
var sizes = prometheus.ExponentialBuckets(1, 2, 14)

func (c *commits) register(r *prometheus.Registry) {
	c.batch = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_pool_batch_size",
		Help:    "Operations that a shard decided as one batch.",
		Buckets: sizes,
	})
	c.duration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_store_commit_duration_seconds",
		Help:    "Time to write and sync one commit.",
		Buckets: durations,
	})
	c.durable = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_store_durable_duration_seconds",
		Help:    "Time from the first decision of a commit until it was durable.",
		Buckets: durations,
	})
	c.size = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "porch_store_commit_decisions",
		Help:    "Decisions that rest on one commit.",
		Buckets: sizes,
	})
	c.rows = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "porch_store_rows_written_total",
		Help: "Rows written, index entries among them.",
	})
	c.bytes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "porch_store_bytes_written_total",
		Help: "Bytes written to the write-ahead log.",
	})
	r.MustRegister(c.batch, c.duration, c.durable, c.size, c.rows, c.bytes)
}

// Applied counts one batch of a shard.
func (m *Metrics) Applied(_, operations int) { m.commits.batch.Observe(float64(operations)) }

// Committed counts one commit.
func (m *Metrics) Committed(c store.Commit) {
	m.commits.duration.Observe(c.Took.Seconds())
	m.commits.durable.Observe(c.Durable.Seconds())
	m.commits.size.Observe(float64(c.Decisions))
	m.commits.rows.Add(float64(c.Rows))
	m.commits.bytes.Add(float64(c.Bytes))
}

// StoreOpened shows the state of the store.
func (m *Metrics) StoreOpened(stats func() store.Stats) {
	m.commits.open.add(struct{}{}, stats)
}

func (c *commits) collect(p page) {
	for _, s := range c.open.sum(func(_, now store.Stats) store.Stats { return now }) {
		p.seconds(storePending, s.Pending)
		p.gauge(storeHotRows, s.HotRows)
		p.gauge(storeHotBytes, int(s.HotBytes))
		p.gauge(storeVolatileRows, s.VolatileRows)
	}
}

var (
	storePending      = describe("porch_store_oldest_pending_seconds", "How long the oldest decision that must be durable has waited.")
	storeHotRows      = describe("porch_store_hot_rows", "Counters in memory, beside their rows on disk.")
	storeHotBytes     = describe("porch_store_hot_response_bytes", "Stored responses in memory, beside their rows on disk.")
	storeVolatileRows = describe("porch_store_volatile_rows", "Counters of durability none, in memory alone.")
)
