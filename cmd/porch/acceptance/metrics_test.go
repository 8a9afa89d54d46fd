package acceptance

import (
	"net/http"
	"strconv"
	"strings"
)

// metrics is one reading of /metrics: value by series, as the page spells it.
type metrics map[string]float64

// metrics reads /metrics.
func (p *process) metrics() metrics {
	p.t.Helper()
	status, page := p.ask("/metrics")
	if status != http.StatusOK {
		p.t.Fatalf("/metrics: status %d", status)
	}
	m := metrics{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			p.t.Fatalf("/metrics: %q: %v", line, err)
		}
		m[line[:at]] = value
	}
	return m
}

// sum adds the series of a name that carry all the labels, each written `name="value"`.
func (m metrics) sum(name string, labels ...string) float64 {
	total := 0.0
series:
	for series, value := range m {
		base, with, _ := strings.Cut(series, "{")
		if base != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(with, l) {
				continue series
			}
		}
		total += value
	}
	return total
}

// has says whether there is a series of that name.
func (m metrics) has(name string) bool {
	for series := range m {
		if base, _, _ := strings.Cut(series, "{"); base == name {
			return true
		}
	}
	return false
}

// What a request holds while it is under way.
const (
	inFlight       = "porch_http_requests_in_flight"
	heldBodies     = "porch_http_held_bodies"
	heldBytes      = "porch_http_held_bytes"
	openFlights    = "porch_pool_flights"
	waiters        = "porch_pool_waiters"
	mailboxes      = "porch_pool_mailbox_depth"
	instancesInUse = "porch_filter_instances_in_use"
	instancesAsked = "porch_filter_instances_waiting"
)

// rest asserts that nothing is held any more, after the last request.
func (p *process) rest() {
	p.t.Helper()
	names := []string{inFlight, heldBodies, heldBytes, openFlights, waiters, mailboxes, instancesInUse, instancesAsked}
	for _, name := range names {
		var held float64
		if !comes(func() bool { held = p.metrics().sum(name); return held == 0 }) {
			p.t.Errorf("%s is %v at rest, want 0", name, held)
		}
	}
	if held := p.metrics().sum("porch_upstream_connections", `state="in_use"`); held != 0 {
		p.t.Errorf("%v connections to upstreams are in use at rest, want 0", held)
	}
}
