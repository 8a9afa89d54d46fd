package acceptance

import (
	"sync"
	"testing"
	"time"
)

const (
	// patience bounds every wait for something that must come; no test passes or fails by how long it took.
	patience = 30 * time.Second
	// glance is how often a state that nobody announces is looked at.
	glance = 5 * time.Millisecond
)

// await returns when done is true, and fails the test if that does not come.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !comes(done) {
		t.Fatalf("never came: %s", what)
	}
}

// comes says whether done becomes true within the test's patience.
func comes(done func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return done()
		}
	}
	return true
}

// together calls f n times at once, with 0 to n-1, and returns when all have ended.
func together(n int, f func(i int)) {
	start(n, f)()
}

// start calls f n times at once, with 0 to n-1, and returns what waits for all to end.
func start(n int, f func(i int)) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	return all.Wait
}

// newTicker ticks a hundred times a second until the test ends.
func newTicker(t testing.TB) <-chan time.Time {
	tick := time.NewTicker(10 * time.Millisecond)
	t.Cleanup(tick.Stop)
	return tick.C
}
