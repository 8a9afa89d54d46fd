package acceptance

import (
	"fmt"
	"net/http"
	"testing"
)

// A24: a policy that holds as many keys as it may, before and after kill -9.
func TestFullPolicyRefusesNewKeysAndKeepsTheLiveOnes(t *testing.T) {
	t.Parallel()
	const keys = 20
	up := newUpstream(t)
	p := launch(t, config{to: up.address,
		filters: []filter{ratelimit(`limit: 3, window: 12h, max_keys: 20, key: ["header:X-Key"]`)}})
	of := func(name string) request { return request{header: header("X-Key", name)} }
	admitted := 0
	for _, got := range p.client().sendAll(3*keys, func(i int) request { return of(fmt.Sprint("early", i)) }) {
		switch got.status {
		case http.StatusOK:
			admitted++
		default:
			wantProblem(t, got, http.StatusServiceUnavailable, reducedCapacity)
			wantRetryAfter(t, got)
		}
	}
	if admitted != keys {
		t.Fatalf("%d keys were admitted, want %d", admitted, keys)
	}
	up.wantRows(keys)

	p.kill()
	p.begin()
	wantProblem(t, p.client().send(of("late")), http.StatusServiceUnavailable, reducedCapacity)
	live := 0
	for i := range 3 * keys {
		name := fmt.Sprint("early", i)
		got := p.client().send(of(name))
		if got.status == http.StatusServiceUnavailable {
			continue
		}
		live++
		wantStatus(t, got, http.StatusOK)
		if q := lastQuota(t, got); q.remaining != 1 {
			t.Errorf("%s: %d remain, want 1", name, q.remaining)
		}
	}
	if live != keys {
		t.Errorf("%d keys are live after the crash, want %d", live, keys)
	}
	up.wantRows(2 * keys)
}
