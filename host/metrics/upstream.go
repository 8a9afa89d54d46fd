package metrics

import "github.com/porchedge/porch/host/edge/upstream"

// upstreams knows which upstreams are open.
type upstreams struct {
	open sources[string, upstream.Stats]
}

// UpstreamOpened shows the connections of an upstream until closed is called.
func (m *Metrics) UpstreamOpened(name string, stats func() upstream.Stats) (closed func()) {
	remove := m.upstreams.open.add(name, stats)
	return func() { remove() }
}

func (u *upstreams) collect(p page) {
	for name, s := range u.open.sum(addUpstreamStats) {
		p.gauge(upstreamConnections, s.Idle, name, "idle")
		p.gauge(upstreamConnections, s.InUse, name, "in_use")
		p.counter(upstreamDials, s.Dials-s.DialsFailed, name, "connected")
		p.counter(upstreamDials, s.DialsFailed, name, "failed")
		p.counter(upstreamStale, s.Stale, name)
		p.counter(upstreamEarly, s.Early, name)
	}
}

func addUpstreamStats(a, b upstream.Stats) upstream.Stats {
	return upstream.Stats{
		Open:        a.Open + b.Open,
		Idle:        a.Idle + b.Idle,
		InUse:       a.InUse + b.InUse,
		Dials:       a.Dials + b.Dials,
		DialsFailed: a.DialsFailed + b.DialsFailed,
		Stale:       a.Stale + b.Stale,
		Early:       a.Early + b.Early,
	}
}

var (
	upstreamConnections = describe("porch_upstream_connections", "Connections to upstreams, by state: idle, in_use.", "upstream", "state")
	upstreamDials       = describe("porch_upstream_dials_total", "Connections to upstreams that were dialled, by outcome: connected, failed.", "upstream", "outcome")
	upstreamStale       = describe("porch_upstream_stale_connections_total", "Idle connections that were found closed or written to before use.", "upstream")
	upstreamEarly       = describe("porch_upstream_early_responses_total", "Responses that began before their request was sent whole.", "upstream")
)
