package chain

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// openPool is a real pool whose disk is memory. When the test ends no flight may be open.
func openPool(t *testing.T) *pool.Pool {
	t.Helper()
	return openPoolOn(t, vfs.NewMem())
}

func openPoolOn(t *testing.T, disk vfs.FS) *pool.Pool {
	t.Helper()
	s, err := store.Open(store.Config{Path: "data", FS: disk, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.Open(pool.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// once is a filter that begins with the key and digest of the request's own text.
type once struct {
	fakeFilter
	pool   *pool.Pool
	policy *pool.Policy
	spec   abi.OnceSpec
}

func newOnce(t *testing.T, maxWait time.Duration) *once {
	t.Helper()
	return onceOf(t, pool.OnceSpec{TTL: time.Hour, MaxWait: maxWait, MaxWaiters: 100})
}

func onceOf(t *testing.T, spec pool.OnceSpec) *once {
	t.Helper()
	return onceOn(t, openPool(t), spec)
}

func onceOn(t *testing.T, p *pool.Pool, spec pool.OnceSpec) *once {
	t.Helper()
	policy, err := p.Once("once", "default", spec)
	if err != nil {
		t.Fatal(err)
	}
	o := &once{pool: p, policy: policy, spec: abi.OnceSpec{MaxResponse: 64}}
	o.name = "once"
	o.request = func(x *exchange.Exchange, place int) error {
		claim, err := p.Begin(policy, []byte("key"), [32]byte{x.Request.Body[0]}, &x.Tickets)
		if err != nil {
			return err
		}
		x.Claim, x.ClaimPlace, x.Once, x.Begun = claim, place, &o.spec, true
		x.Places[place].Mismatched = claim.State() == pool.Mismatch
		return nil
	}
	return o
}

// keyed is a request with the one key and a body.
func keyed(body string) *exchange.Exchange {
	x := newExchange()
	x.Request.Body, x.Request.Held = []byte(body), true
	return x
}

func TestReplay(t *testing.T) {
	o := newOnce(t, time.Minute)
	b := newBed(&o.fakeFilter)
	b.upstream.forward = answers(201, "made", "Location", "/1", "Set-Cookie", "a=b", "X-Private", "1")

	first := keyed("a")
	if body := b.run(t, first); body != "made" || first.Response.Status != 201 || field(first, "Set-Cookie") != "a=b" {
		t.Errorf("owner got %d %q with %q; want the upstream's response unchanged", first.Response.Status, body, field(first, "Set-Cookie"))
	}
	second := keyed("a")
	if body := b.run(t, second); body != "made" || second.Response.Status != 201 {
		t.Errorf("replay is %d %q", second.Response.Status, body)
	}
	for name, want := range map[string]string{
		"Location": "/1", "Idempotent-Replayed": "true", "Set-Cookie": "", "X-Private": "",
	} {
		if got := field(second, name); got != want {
			t.Errorf("replay has %s %q; want %q", name, got, want)
		}
	}
	if want := ">once upstream <once >once <once"; b.trail.String() != want {
		t.Errorf("trail %q; want %q", b.trail.String(), want)
	}
}

func TestMismatch(t *testing.T) {
	o := newOnce(t, time.Minute)
	b := newBed(&o.fakeFilter)
	b.run(t, keyed("a"))
	x := keyed("b")
	b.run(t, x)
	if x.Response.Status != 422 || strings.Count(b.trail.String(), "upstream") != 1 {
		t.Errorf("%d by %q; want 422 and one call upstream", x.Response.Status, b.trail.String())
	}
}

// What ends without a storable response leaves the key free: the next request runs.
func TestClaimIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		later *fakeFilter
		fail  func(*exchange.Exchange) error
		want  int
	}{
		{name: "500 of the upstream", later: &fakeFilter{}, fail: answers(500, "no"), want: 500},
		{name: "404 of the upstream", later: &fakeFilter{}, fail: answers(404, "no"), want: 404},
		{name: "no upstream", later: &fakeFilter{}, fail: func(*exchange.Exchange) error { return errors.New("down") }, want: 502},
		{name: "a later filter's own answer", later: &fakeFilter{request: respond(200)}, want: 200},
		{name: "a later filter's trap", later: &fakeFilter{request: fail(errors.New("trap"))}, want: 503},
		{name: "the upstream breaks off", later: &fakeFilter{}, want: 502, fail: func(x *exchange.Exchange) error {
			_ = answers(200, "half")(x)
			x.Response.Body.Stream = io.NopCloser(io.MultiReader(strings.NewReader("ha"), brokenReader{}))
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOnce(t, time.Minute)
			c.later.name = "later"
			b := newBed(&o.fakeFilter, c.later)
			if c.fail != nil {
				b.upstream.forward = c.fail
			}
			x := keyed("a")
			b.run(t, x)
			if x.Response.Status != c.want {
				t.Fatalf("first got %d; want %d", x.Response.Status, c.want)
			}
			c.later.request = nil
			b.upstream.forward = answers(200, "ran")
			x = keyed("a")
			if body := b.run(t, x); body != "ran" || field(x, "Idempotent-Replayed") != "" {
				t.Errorf("second got %d %q; want it to run", x.Response.Status, body)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What has run and cannot be kept is never run again.
func TestMarker(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		name  string
		later *fakeFilter
		body  string
		owner int
	}{
		{"over the cap", &fakeFilter{}, long, 200},
		{"a later filter's porch_response fails", &fakeFilter{response: fail(errors.New("trap"))}, "short", 503},
		{"a later filter makes it an error", &fakeFilter{response: func(x *exchange.Exchange, _ int) error {
			x.Response.Status = 500
			return nil
		}}, "short", 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOnce(t, time.Minute)
			c.later.name = "later"
			b := newBed(&o.fakeFilter, c.later)
			b.upstream.forward = answers(200, c.body)
			x := keyed("a")
			body := b.run(t, x)
			if x.Response.Status != c.owner {
				t.Errorf("owner got %d; want %d", x.Response.Status, c.owner)
			}
			if c.owner == 200 && body != long {
				t.Errorf("owner got %d bytes; want all %d", len(body), len(long))
			}
			x = keyed("a")
			b.run(t, x)
			if x.Response.Status != 409 || field(x, "Retry-After") != "" || strings.Count(b.trail.String(), "upstream") != 1 {
				t.Errorf("duplicate got %d by %q; want 409 and one call upstream", x.Response.Status, b.trail.String())
			}
		})
	}
}

// A body of unknown length that outgrows the cap reaches its owner whole.
func TestUnknownLengthOverTheCap(t *testing.T) {
	o := newOnce(t, time.Minute)
	b := newBed(&o.fakeFilter)
	long := strings.Repeat("0123456789", 20)
	b.upstream.forward = func(x *exchange.Exchange) error {
		_ = answers(200, long)(x)
		x.Response.Body.Length = -1
		return nil
	}
	if body := b.run(t, keyed("a")); body != long {
		t.Errorf("owner got %d bytes; want %d in order", len(body), len(long))
	}
}

func TestDuplicatesShareOneRun(t *testing.T) {
	o := newOnce(t, time.Minute)
	b := newBed()
	b.places = []Place{{Name: "once", Filter: quiet{o}}}
	arrived, let := make(chan struct{}), make(chan struct{})
	runs := 0
	b.upstream = fakeUpstream{trail: &trail{}, forward: func(x *exchange.Exchange) error {
		runs++
		close(arrived)
		<-let
		return answers(200, "one")(x)
	}}
	chain := b.chain()
	results := make(chan string, 20)
	var all sync.WaitGroup
	one := func() {
		x := keyed("a")
		chain.Start(x)
		chain.Advance(x)
		err := chain.Finish(x)
		results <- fmt.Sprint(x.Response.Status, " ", string(x.Response.Body.Bytes), " ", err)
		chain.End(x)
	}
	all.Go(one)
	<-arrived
	for range 19 {
		all.Go(one)
	}
	for waiters(o.pool) < 19 {
		time.Sleep(time.Millisecond)
	}
	close(let)
	all.Wait()
	close(results)
	for r := range results {
		if r != "200 one <nil>" {
			t.Errorf("a request got %q", r)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs; want 1", runs)
	}
}

func TestWaitingTooLong(t *testing.T) {
	o := newOnce(t, time.Millisecond)
	b := newBed()
	b.places = []Place{{Name: "once", Filter: quiet{o}}}
	arrived, let := make(chan struct{}), make(chan struct{})
	b.upstream = fakeUpstream{trail: &trail{}, forward: func(x *exchange.Exchange) error {
		close(arrived)
		<-let
		return answers(200, "one")(x)
	}}
	owner := make(chan struct{})
	go func() {
		defer close(owner)
		b.run(t, keyed("a"))
	}()
	<-arrived
	x := keyed("a")
	b.run(t, x)
	if x.Response.Status != 409 || field(x, "Retry-After") == "" {
		t.Errorf("waiter got %d, Retry-After %q; want 409 and a time", x.Response.Status, field(x, "Retry-After"))
	}
	close(let)
	<-owner
}

// An exchange that is abandoned before Finish gives its claim back.
func TestEndReleases(t *testing.T) {
	o := newOnce(t, time.Minute)
	b := newBed(&o.fakeFilter)
	chain := b.chain()
	x := keyed("a")
	chain.Start(x)
	chain.Advance(x)
	chain.End(x)
	next := keyed("b")
	b.run(t, next)
	if next.Response.Status != 200 {
		t.Errorf("next request got %d; want it to run", next.Response.Status)
	}
}

// quiet is a filter that leaves no trail, for tests whose exchanges run at once.
type quiet struct{ *once }

func (q quiet) Request(x *exchange.Exchange, place int) error { return q.request(x, place) }
func (q quiet) Response(*exchange.Exchange, int) error        { return nil }

func waiters(p *pool.Pool) int {
	n := 0
	for _, s := range p.Stats().Shards {
		n += s.Waiters
	}
	return n
}
