package acceptance

import (
	"fmt"
	"net/http"
	"testing"
)

// A1: a limit of N per window, N+1 requests.
func TestLimitRefusesTheOneTooMany(t *testing.T) {
	t.Parallel()
	const limit = 5
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 5, window: 1h")}})
	c := p.client()
	for i := range limit {
		got := c.send(request{})
		wantStatus(t, got, http.StatusOK)
		q := lastQuota(t, got)
		if q.limit != limit || q.window != 3600 || q.remaining != int64(limit-1-i) || q.reset < 3500 || q.reset > 3600 {
			t.Errorf("request %d: %+v", i, q)
		}
	}
	got := c.send(request{})
	doc := wantProblem(t, got, http.StatusTooManyRequests, quotaExceeded)
	wantNoStore(t, got)
	q := lastQuota(t, got)
	if q.limit != limit || q.window != 3600 || q.remaining != 0 {
		t.Errorf("refused: %+v", q)
	}
	if len(doc.Violated) != 1 || doc.Violated[0] != q.name {
		t.Errorf("violated-policies %q, want %q", doc.Violated, q.name)
	}
	if after := wantRetryAfter(t, got); int64(after) < q.reset-1 || after > 3600 {
		t.Errorf("Retry-After %d, the window resets in %d", after, q.reset)
	}
	up.wantRows(limit)
}

// Fields of the upstream's own limits stay before porch's.
func TestLimitIsToldBesideTheUpstreams(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 5, window: 1h")}})
	up.hold()
	replies := p.client().startAll(1, always(request{}))
	up.arrival().answers <- answer{status: 200, header: header("RateLimit", `"theirs";r=1;t=2`, "RateLimit-Policy", `"theirs";q=3;w=4`)}
	got := replies()[0]
	if first := got.header.Values("RateLimit"); len(first) == 0 || first[0] != `"theirs";r=1;t=2` {
		t.Errorf("RateLimit: %q", first)
	}
	if q := lastQuota(t, got); q.limit != 5 || q.remaining != 4 {
		t.Errorf("%+v", q)
	}
}

// The X-RateLimit fields are those of the policy with the smallest share left, in either order.
func TestTightestPolicyIsTold(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	wide, tight := ratelimit("limit: 100, window: 1h").named("wide"), ratelimit("limit: 2, window: 1h").named("tight")
	p := launch(t, config{to: up.address, filters: []filter{wide, tight}, routes: []string{
		"path: /a, filters: [wide, tight], upstream: app",
		"path: /b, filters: [tight, wide], upstream: app",
	}})
	for _, target := range []string{"/a", "/b"} {
		got := p.client().send(request{target: target})
		wantStatus(t, got, http.StatusOK)
		if limit := got.header.Values("X-RateLimit-Limit"); len(limit) != 1 || limit[0] != "2" {
			t.Errorf("%s: X-RateLimit-Limit %q, want one of 2", target, limit)
		}
		if n := len(got.header.Values("RateLimit")); n != 2 {
			t.Errorf("%s: %d RateLimit fields, want one of each policy", target, n)
		}
	}
}

// A2: counters at their limit, SIGTERM, restart.
func TestLimitOutlivesARestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 3, window: 1h")}})
	for range 3 {
		wantStatus(t, p.client().send(request{}), http.StatusOK)
	}
	wantStatus(t, p.client().send(request{}), http.StatusTooManyRequests)
	p.restart()
	wantStatus(t, p.client().send(request{}), http.StatusTooManyRequests)
	up.wantRows(3)
}

// A6: N requests at once for one key over 64 connections.
func TestEveryRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	const n, limit, connections = 2000, 500, 64
	up := newUpstream(t)
	p := launch(t, config{to: up.address,
		filters: []filter{
			ratelimit("limit: 500, window: 1h").named("scarce"),
			ratelimit("limit: 1000000, window: 1h").named("ample"),
		},
		routes: []string{
			"path: /scarce, filters: [scarce], upstream: app",
			"path: /ample, filters: [ample], upstream: app",
		}})
	flood := func(target string) (passed int) {
		each := make([]int, connections)
		together(connections, func(i int) {
			c := p.client()
			c.http.Transport.(*http.Transport).MaxConnsPerHost = 1
			for k := i; k < n; k += connections {
				got, err := c.try(request{target: target})
				switch {
				case err != nil:
					t.Error(err)
				case got.status == http.StatusOK:
					each[i]++
				case got.status != http.StatusTooManyRequests:
					t.Errorf("status %d: %s", got.status, got.body)
				}
			}
		})
		for _, e := range each {
			passed += e
		}
		return passed
	}
	if passed := flood("/scarce"); passed != limit {
		t.Errorf("%d of %d passed a limit of %d", passed, n, limit)
	}
	up.wantRows(limit)
	if passed := flood("/ample"); passed != n {
		t.Errorf("%d of %d passed", passed, n)
	}
	if q := lastQuota(t, p.client().send(request{target: "/ample"})); q.limit-q.remaining != n+1 {
		t.Errorf("%d counted, want %d", q.limit-q.remaining, n+1)
	}
}

// Keys of a limit.
func TestLimitKeys(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	const one = "limit: 1, window: 1h, key: "
	p := launch(t, config{to: up.address, further: "trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]",
		filters: []filter{
			ratelimit(one + "[peer]").named("by-peer"),
			ratelimit(one + "[client]").named("by-client"),
			ratelimit(one + "[route]").named("by-route"),
		},
		routes: []string{
			"path: /peer, filters: [by-peer], upstream: app",
			"path: /client, filters: [by-client], upstream: app",
			"path: /route/a, filters: [by-route], upstream: app",
			"path: /route/b, filters: [by-route], upstream: app",
		}})
	c := p.client()
	forwarded := func(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }
	for _, step := range []struct {
		name   string
		r      request
		status int
	}{
		{"a peer's first", request{target: "/peer"}, 200},
		{"the peer cannot be forged", request{target: "/peer", header: forwarded("192.0.2.1")}, 429},
		{"a client behind a proxy", request{target: "/client", header: forwarded("192.0.2.1")}, 200},
		{"the same, with what it claims itself before it", request{target: "/client", header: forwarded("203.0.113.9, 192.0.2.1")}, 429},
		{"the same, through one more proxy", request{target: "/client", header: forwarded("192.0.2.1", "10.1.2.3")}, 429},
		{"the same, mapped", request{target: "/client", header: forwarded("::ffff:192.0.2.1")}, 429},
		{"the same, with its port", request{target: "/client", header: forwarded("192.0.2.1:4711")}, 429},
		{"another", request{target: "/client", header: forwarded("192.0.2.2")}, 200},
		{"IPv6", request{target: "/client", header: forwarded("2001:db8:0:1::1")}, 200},
		{"another of its network", request{target: "/client", header: forwarded("[2001:db8:0:1:ffff::2]:80")}, 429},
		{"another network", request{target: "/client", header: forwarded("2001:db8:0:2::1")}, 200},
		{"a route", request{target: "/route/a/1"}, 200},
		{"the route in another spelling", request{target: "/route/a/./%62//2?x"}, 429},
		{"another route", request{target: "/route/b"}, 200},
	} {
		t.Run(step.name, func(t *testing.T) { wantStatus(t, c.send(step.r), step.status) })
	}
}

// A key of several parts has no two readings.
func TestLimitKeyOfSeveralHeaders(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{
		ratelimit(`limit: 1, window: 1h, key: ["header:X-A", "header:X-B"]`)}})
	c := p.client()
	for i, pair := range [][2]string{{"ab", "c"}, {"a", "bc"}, {"abc", "."}} {
		wantStatus(t, c.send(request{header: header("X-A", pair[0], "X-B", pair[1])}), 200)
		up.wantRows(i + 1)
	}
	wantStatus(t, c.send(request{header: header("X-A", "ab", "X-B", "c")}), 429)
	wantProblem(t, c.send(request{header: header("X-A", "ab")}), http.StatusBadRequest, blank)
}

// Durability async and none decide as sync does while the process lives.
func TestLimitDurabilities(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"sync", "async", "none"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, config{to: up.address, filters: []filter{
				ratelimit(fmt.Sprintf("limit: 20, window: 1h, durability: %s", durability))}})
			replies := p.client().sendAll(30, always(request{}))
			if passed := count(replies, 200); passed != 20 {
				t.Errorf("%d passed, want 20", passed)
			}
			p.restart()
			want := http.StatusTooManyRequests
			if durability == "none" {
				want = http.StatusOK
			}
			wantStatus(t, p.client().send(request{}), want)
		})
	}
}
