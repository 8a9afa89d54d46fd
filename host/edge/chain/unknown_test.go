package chain

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/host/edge/upstream"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/pool"
)

// What a policy that refuses unknown outcomes makes of each way in which a run can end.
func TestRefuseUnknown(t *testing.T) {
	const runs, refused = "runs", "refused"
	breaksOff := func(x *exchange.Exchange) error {
		_ = answers(200, "half")(x)
		x.Response.Body.Stream = io.NopCloser(io.MultiReader(strings.NewReader("ha"), brokenReader{}))
		return nil
	}
	failing := func(err error) func(*exchange.Exchange) error {
		return func(*exchange.Exchange) error { return err }
	}
	for _, c := range []struct {
		name    string
		later   *fakeFilter
		forward func(*exchange.Exchange) error
		first   int
		then    string
	}{
		{"500 of the upstream", &fakeFilter{}, answers(500, "no"), 500, runs},
		{"404 of the upstream", &fakeFilter{}, answers(404, "no"), 404, runs},
		{"no connection", &fakeFilter{}, failing(&upstream.Error{Kind: upstream.Unreachable}), 502, runs},
		{"too many at the upstream", &fakeFilter{}, failing(&upstream.Error{Kind: upstream.Busy}), 503, runs},
		{"a later filter's own answer", &fakeFilter{request: respond(200)}, nil, 200, runs},
		{"a later filter's trap", &fakeFilter{request: fail(errors.New("trap"))}, nil, 503, runs},
		{"reset after a byte was sent", &fakeFilter{}, failing(&upstream.Error{Kind: upstream.Unreachable, Sent: true}), 502, refused},
		{"time-out", &fakeFilter{}, failing(&upstream.Error{Kind: upstream.Timeout, Sent: true}), 504, refused},
		{"nonsense", &fakeFilter{}, failing(&upstream.Error{Kind: upstream.Nonsense, Sent: true}), 502, refused},
		{"a failure without proof", &fakeFilter{}, failing(errors.New("anything")), 502, refused},
		{"the upstream breaks off", &fakeFilter{}, breaksOff, 502, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := onceOf(t, pool.OnceSpec{TTL: time.Hour, MaxWait: time.Minute, MaxWaiters: 100, RefuseUnknown: true})
			c.later.name = "later"
			b := newBed(&o.fakeFilter, c.later)
			if c.forward != nil {
				b.upstream.forward = c.forward
			}
			x := keyed("a")
			b.run(t, x)
			if x.Response.Status != c.first {
				t.Fatalf("first got %d; want %d", x.Response.Status, c.first)
			}
			c.later.request = nil
			b.upstream.forward = answers(200, "ran")
			x = keyed("a")
			body := b.run(t, x)
			switch {
			case c.then == runs && (body != "ran" || x.Replayed):
				t.Errorf("second got %d %q; want it to run", x.Response.Status, body)
			case c.then == refused && (x.Response.Status != 409 || field(x, "Retry-After") != ""):
				t.Errorf("second got %d, Retry-After %q; want 409 for good", x.Response.Status, field(x, "Retry-After"))
			}
			if other := keyed("b"); c.then == refused {
				if b.run(t, other); other.Response.Status != 422 {
					t.Errorf("another request under the key got %d; want 422", other.Response.Status)
				}
			}
		})
	}
}

// When the first byte goes upstream it is on disk that the request was started, whatever is not synced is lost.
func TestStartIsDurableBeforeTheFirstByte(t *testing.T) {
	spec := pool.OnceSpec{TTL: time.Hour, MaxWait: time.Minute, MaxWaiters: 100, RefuseUnknown: true}
	disk := vfs.NewCrashableMem()
	o := onceOn(t, openPoolOn(t, disk), spec)
	b := newBed(&o.fakeFilter)
	var crashed vfs.FS
	b.upstream.forward = func(x *exchange.Exchange) error {
		crashed = disk.CrashClone(vfs.CrashCloneCfg{})
		return answers(200, "ran")(x)
	}
	b.run(t, keyed("a"))

	o = onceOn(t, openPoolOn(t, crashed), spec)
	b = newBed(&o.fakeFilter)
	x := keyed("a")
	b.run(t, x)
	if x.Response.Status != 409 || b.trail.String() != ">once <once" {
		t.Errorf("after a crash at the upstream: %d by %q; want 409", x.Response.Status, b.trail.String())
	}
}

// Those that wait learn with the owner that nobody knows.
func TestWaitersOfAnUnknownOutcome(t *testing.T) {
	o := onceOf(t, pool.OnceSpec{TTL: time.Hour, MaxWait: time.Minute, MaxWaiters: 100, RefuseUnknown: true})
	b := newBed()
	b.places = []Place{{Name: "once", Filter: quiet{o}}}
	arrived, let := make(chan struct{}), make(chan struct{})
	b.upstream = fakeUpstream{trail: &trail{}, forward: func(*exchange.Exchange) error {
		close(arrived)
		<-let
		return &upstream.Error{Kind: upstream.Timeout, Sent: true}
	}}
	statuses := make(chan int, 2)
	run := func() {
		x := keyed("a")
		b.run(t, x)
		statuses <- x.Response.Status
	}
	// Stops when the run has ended; its status is received below.
	go run()
	<-arrived
	// Stops when the flight of the first has ended; its status is received below.
	go run()
	for waiters(o.pool) < 1 {
		time.Sleep(time.Millisecond)
	}
	close(let)
	if a, b := <-statuses, <-statuses; a+b != 504+409 {
		t.Errorf("statuses %d and %d; want 504 and 409", a, b)
	}
}

// A started row that cannot be stored is the filter's to answer for, by its failure policy.
func TestStartThatCannotBeStored(t *testing.T) {
	for _, open := range []bool{false, true} {
		o := onceOf(t, pool.OnceSpec{TTL: time.Hour, MaxWait: time.Minute, MaxWaiters: 100, RefuseUnknown: true})
		b := newBed(&o.fakeFilter)
		b.places[0].Open = open
		begin := o.request
		o.request = func(x *exchange.Exchange, place int) error {
			err := begin(x, place)
			x.Claim.Release() // its Start now gives an error
			return err
		}
		x := keyed("a")
		b.run(t, x)
		want, trail := 503, ">once <once"
		if open {
			want, trail = 200, ">once upstream <once"
		}
		if x.Response.Status != want || b.trail.String() != trail || len(b.opened.filters) != map[bool]int{true: 1}[open] {
			t.Errorf("open %v: %d by %q", open, x.Response.Status, b.trail.String())
		}
	}
}
