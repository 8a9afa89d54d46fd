package acceptance

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// A3: kill -9 in the middle of parallel traffic, 50 times over.
//
// Three things are followed through all lives of the process: a limit with a fresh key each round, which
// never lets more than its limit through; a count that never reaches its limit, which after each crash
// stands at no less than what was answered and no more than what was sent; and keyed requests, whose
// answers are replayed after the crash.
func TestNothingAnsweredIsForgottenByACrash(t *testing.T) {
	t.Parallel()
	const rounds, limit, callers = 50, 20, 6
	up := newUpstream(t)
	p := launch(t, config{to: up.address,
		filters: []filter{
			ratelimit(`limit: 20, window: 12h, key: ["header:X-Round"]`).named("per-round"),
			ratelimit("limit: 1000000, window: 12h").named("total"),
			idempotency("ttl: 12h"),
		},
		routes: []string{
			"path: /round, filters: [per-round], upstream: app",
			"path: /total, filters: [total], upstream: app",
			"path: /once, filters: [once], upstream: app",
		}})

	var laps atomic.Int64           // of any caller, in this life
	var sent, answered atomic.Int64 // to /total
	passed := make([]atomic.Int64, rounds)
	var orders sync.Map // key to body, of those that were answered

	// traffic is one caller of one life, until the process is gone.
	traffic := func(round, caller int) {
		c := p.client()
		for i := 0; ; i++ {
			got, err := c.try(request{target: "/round", header: header("X-Round", fmt.Sprint(round))})
			if err != nil {
				return
			}
			if got.status == http.StatusOK {
				passed[round].Add(1)
			}
			sent.Add(1)
			if got, err = c.try(request{target: "/total"}); err != nil {
				return
			}
			wantStatus(t, got, http.StatusOK)
			answered.Add(1)
			key := fmt.Sprintf("%d-%d-%d", round, caller, i)
			if got, err = c.try(request{target: "/once", key: key}); err != nil {
				return
			}
			wantStatus(t, got, http.StatusOK)
			orders.Store(key, got.body)
			laps.Add(1)
		}
	}

	for round := range rounds {
		laps.Store(0)
		wait := start(callers, func(caller int) { traffic(round, caller) })
		await(t, "traffic", func() bool { return laps.Load() > 0 })
		p.kill()
		wait()
		p.begin()

		sent.Add(1)
		got := p.client().send(request{target: "/total"})
		answered.Add(1)
		q := lastQuota(t, got)
		if used := q.limit - q.remaining; used < answered.Load() || used > sent.Load() {
			t.Errorf("after crash %d: %d counted; %d were answered and %d sent", round, used, answered.Load(), sent.Load())
		}
		for range limit {
			if p.client().send(request{target: "/round", header: header("X-Round", fmt.Sprint(round))}).status != http.StatusOK {
				break
			}
			passed[round].Add(1)
		}
	}
	for round := range passed {
		if n := passed[round].Load(); n > limit {
			t.Errorf("round %d: %d passed a limit of %d", round, n, limit)
		}
		got := p.client().send(request{target: "/round", header: header("X-Round", fmt.Sprint(round))})
		wantStatus(t, got, http.StatusTooManyRequests)
	}
	before := len(up.rows())
	n := 0
	orders.Range(func(key, body any) bool {
		got := p.client().send(request{target: "/once", key: key.(string)})
		if got.body != body.(string) || !replayed(got) {
			t.Errorf("order %s: %d %q, was %q", key, got.status, got.body, body)
		}
		n++
		return !t.Failed()
	})
	up.wantRows(before)
	t.Logf("%d requests counted, %d orders, over %d crashes", answered.Load(), n, rounds)
}

// A kill -9 while a keyed request is at the upstream leaves nothing that a retry could be told: it runs
// again, as it would without porch.
func TestRunCutByACrashIsRunAgain(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	lost := start(1, func(int) { p.client().try(request{key: "k", body: "order"}) })
	up.arrival()
	p.kill()
	lost()
	up.open()
	p.begin()
	got := p.client().send(request{key: "k", body: "order"})
	if got.status != http.StatusOK || replayed(got) {
		t.Errorf("the retry is %d, replayed %v", got.status, replayed(got))
	}
	up.wantRows(2)
}
