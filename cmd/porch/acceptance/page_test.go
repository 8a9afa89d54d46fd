package acceptance

import (
	"net/http"
	"strings"
	"testing"
)

// The pages of the admin listener, once everything has happened that they tell of.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 3, window: 1h"), idempotency("ttl: 1h")}})
	c := p.client()
	order := request{key: "k", body: "order"}
	wantStatus(t, c.send(order), http.StatusOK)
	wantStatus(t, c.send(order), http.StatusOK)
	wantStatus(t, c.send(request{key: "k", body: "another"}), http.StatusUnprocessableEntity)
	wantStatus(t, c.send(order), http.StatusTooManyRequests)

	if status, _ := p.ask("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d", status)
	}
	m := p.metrics()
	for _, name := range []string{
		"porch_build_info", "porch_generation", reloads,
		"porch_decision_duration_seconds_count", "porch_pool_batch_size_count", "porch_pool_mailbox_bound",
		mailboxes, openFlights, waiters,
		"porch_store_commit_duration_seconds_count", "porch_store_durable_duration_seconds_count",
		"porch_filter_calls_total", "porch_filter_call_duration_seconds_count", "porch_filter_instances_bound",
		instancesInUse, filterVersions, filterLoads,
		"porch_http_requests_total", "porch_http_request_duration_seconds_count", inFlight, heldBodies,
		"porch_upstream_connections",
	} {
		if !m.has(name) {
			t.Errorf("no %s", name)
		}
	}
	for outcome, want := range map[string]float64{"allowed": 3, "refused": 1, "executed": 1, "replayed": 1, "mismatch": 1} {
		if n := m.sum("porch_decision_duration_seconds_count", `outcome="`+outcome+`"`); n != want {
			t.Errorf("%v decisions are %s, want %v", n, outcome, want)
		}
	}
	for class, want := range map[string]float64{"2xx": 2, "4xx": 2} {
		if n := m.sum("porch_http_requests_total", `status="`+class+`"`); n != want {
			t.Errorf("%v responses are %s, want %v", n, class, want)
		}
	}
	_, page := p.ask("/metrics")
	if strings.Contains(page, "127.0.0.1") {
		t.Error("an address is on the page")
	}
}
