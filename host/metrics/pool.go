package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/porchedge/porch/pool"
)

// decisions times what the pool decides. It is the observer of pool.
type decisions struct {
	duration *prometheus.HistogramVec
	children series[decision, prometheus.Observer]
	open     sources[struct{}, pool.Stats]
}

type decision struct {
	policy    string
	kind      pool.Kind
	operation pool.Operation
	outcome   pool.Outcome
}

func (d *decisions) register(r *prometheus.Registry) {
	d.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "porch_decision_duration_seconds",
		Help:    "Time from the question to the answer of the pool; for the operation wait it is that of the flight.",
		Buckets: durations,
	}, []string{"policy", "kind", "operation", "outcome"})
	r.MustRegister(d.duration)
}

// Decided counts one answer of the pool.
func (m *Metrics) Decided(policy *pool.Policy, op pool.Operation, outcome pool.Outcome, took time.Duration) {
	d := &m.decisions
	d.children.get(decision{policy.Name(), policy.Kind(), op, outcome}, d.child).Observe(took.Seconds())
}

func (d *decisions) child(k decision) prometheus.Observer {
	return d.duration.WithLabelValues(k.policy, k.kind.String(), k.operation.String(), k.outcome.String())
}

// PoolOpened shows the state of the pool.
func (m *Metrics) PoolOpened(stats func() pool.Stats) {
	m.decisions.open.add(struct{}{}, stats)
}

func (d *decisions) collect(p page) {
	for _, s := range d.open.sum(func(_, now pool.Stats) pool.Stats { return now }) {
		for i, shard := range s.Shards {
			name := strconv.Itoa(i)
			p.gauge(mailboxDepth, shard.Mailbox, name)
			p.gauge(mailboxBound, shard.Bound, name)
			p.gauge(flights, shard.Flights, name)
			p.gauge(waiters, shard.Waiters, name)
		}
	}
}

var (
	mailboxDepth = describe("porch_pool_mailbox_depth", "Unanswered messages of a shard.", "shard")
	mailboxBound = describe("porch_pool_mailbox_bound", "Most unanswered messages of a shard, and most open flights.", "shard")
	flights      = describe("porch_pool_flights", "Keyed requests in flight.", "shard")
	waiters      = describe("porch_pool_waiters", "Duplicates that wait for a flight.", "shard")
)
