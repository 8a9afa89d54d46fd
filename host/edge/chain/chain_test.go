package chain

import (
	"errors"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/edge/upstream"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm"
)

func TestOrder(t *testing.T) {
	trap := errors.New("trap")
	for _, c := range []struct {
		name    string
		a, b, c *fakeFilter
		open    bool // b's failure policy
		status  int
		trail   string
	}{
		{
			name: "all continue",
			a:    &fakeFilter{}, b: &fakeFilter{}, c: &fakeFilter{},
			status: 200, trail: ">a >b >c upstream <c <b <a",
		},
		{
			name: "the middle one answers, and only those before it see the way back",
			a:    &fakeFilter{}, b: &fakeFilter{request: respond(403)}, c: &fakeFilter{},
			status: 403, trail: ">a >b <a",
		},
		{
			name: "the middle one traps, closed",
			a:    &fakeFilter{}, b: &fakeFilter{request: fail(trap)}, c: &fakeFilter{},
			status: 503, trail: ">a >b <a",
		},
		{
			name: "the middle one traps, open",
			a:    &fakeFilter{}, b: &fakeFilter{request: fail(trap)}, c: &fakeFilter{}, open: true,
			status: 200, trail: ">a >b >c upstream <c <a",
		},
		{
			name: "a filter without porch_request takes part in the way back",
			a:    &fakeFilter{}, b: &fakeFilter{passRequest: true}, c: &fakeFilter{},
			status: 200, trail: ">a >c upstream <c <b <a",
		},
		{
			name: "a trap on the way back, closed",
			a:    &fakeFilter{}, b: &fakeFilter{response: fail(trap)}, c: &fakeFilter{},
			status: 503, trail: ">a >b >c upstream <c <b <a",
		},
		{
			name: "a trap on the way back, open",
			a:    &fakeFilter{}, b: &fakeFilter{response: fail(trap)}, c: &fakeFilter{}, open: true,
			status: 200, trail: ">a >b >c upstream <c <b <a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.a.name, c.b.name, c.c.name = "a", "b", "c"
			b := newBed(c.a, c.b, c.c)
			b.places[1].Open = c.open
			x := newExchange()
			b.run(t, x)
			if x.Response.Status != c.status || b.trail.String() != c.trail {
				t.Errorf("got %d by %q; want %d by %q", x.Response.Status, b.trail.String(), c.status, c.trail)
			}
			if c.open && len(b.opened.filters) != 1 {
				t.Errorf("passed open %v; want it counted once", b.opened.filters)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for _, condition := range []abi.Condition{abi.Saturated, abi.Unavailable, abi.Capacity} {
		for _, open := range []bool{false, true} {
			f := &fakeFilter{name: "limit", request: func(x *exchange.Exchange, place int) error {
				x.Places[place].Condition = int32(condition)
				return nil
			}}
			b := newBed(f)
			b.places[0].Open = open
			x := newExchange()
			b.run(t, x)
			want, trail := 503, ">limit <limit"
			if open {
				want, trail = 200, ">limit upstream <limit"
			}
			if x.Response.Status != want || b.trail.String() != trail {
				t.Errorf("condition %d, open %v: %d by %q; want %d by %q", condition, open, x.Response.Status, b.trail.String(), want, trail)
			}
			if !open && field(x, "Retry-After") == "" {
				t.Errorf("condition %d: no Retry-After", condition)
			}
		}
	}
}

func TestRecordedOperations(t *testing.T) {
	inner := &fakeFilter{name: "inner", request: record("X-Who", "inner")}
	outer := &fakeFilter{name: "outer", request: record("X-Who", "outer")}
	b := newBed(outer, inner)
	b.upstream.forward = answers(200, "", "X-Who", "upstream")
	x := newExchange()
	b.run(t, x)
	var got []string
	for _, f := range x.Response.Header.Fields {
		got = append(got, string(f.Value))
	}
	if want := []string{"upstream", "inner", "outer"}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("X-Who %v; want %v", got, want)
	}
}

func TestFailureDropsWhatWasRecorded(t *testing.T) {
	f := &fakeFilter{name: "f", request: func(x *exchange.Exchange, place int) error {
		_ = record("X-Leak", "1")(x, place)
		x.Places[place].Status = 418
		return errors.New("trap after respond")
	}}
	b := newBed(f)
	b.places[0].Open = true
	x := newExchange()
	b.run(t, x)
	if x.Response.Status != 200 || field(x, "X-Leak") != "" {
		t.Errorf("status %d, X-Leak %q; want the upstream's answer alone", x.Response.Status, field(x, "X-Leak"))
	}
}

func TestBodyIsAskedForOnlyWhereNeeded(t *testing.T) {
	keyed := []wasm.Need{{Features: abi.FeatureBody, Header: "Idempotency-Key", Cap: 100}}
	always := []wasm.Need{{Features: abi.FeatureBody, Cap: 10}}
	for _, c := range []struct {
		name   string
		method string
		key    bool
		needs  []wasm.Need
		step   Step
		limit  int64
	}{
		{"keyed need, no key", "POST", false, keyed, StepDecided, 0},
		{"keyed need, key", "POST", true, keyed, StepNeedBody, 100},
		{"keyed need, key on a safe method", "GET", true, keyed, StepDecided, 0},
		{"need of all", "GET", false, always, StepNeedBody, 10},
		{"the smallest cap holds", "POST", true, append(keyed, always...), StepNeedBody, 10},
		{"no need", "POST", true, nil, StepDecided, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(&fakeFilter{name: "first"}, &fakeFilter{name: "second", needs: c.needs})
			x := newExchange()
			x.Request.Method = c.method
			x.Request.Stream = errReader{}
			x.Request.Length = -1
			if c.key {
				x.Request.Header.Add([]byte("idempotency-key"), []byte("k"))
			}
			chain := b.chain()
			chain.Start(x)
			if step := chain.Advance(x); step != c.step {
				t.Errorf("step %v; want %v", step, c.step)
			}
			if got := chain.BodyCap(x); c.step == StepNeedBody && got != c.limit {
				t.Errorf("cap %d; want %d", got, c.limit)
			}
			x.Request.Held = true
			if step := chain.Advance(x); step != StepDecided || b.trail.String() != ">first >second" {
				t.Errorf("once held: %v by %q", step, b.trail.String())
			}
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("nobody may read this body") }

func TestUpstreamFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
	}{
		{"unreachable", &upstream.Error{Kind: upstream.Unreachable}, 502},
		{"time-out", &upstream.Error{Kind: upstream.Timeout, Sent: true}, 504},
		{"nonsense", &upstream.Error{Kind: upstream.Nonsense, Sent: true}, 502},
		{"too many at the upstream", &upstream.Error{Kind: upstream.Busy}, 503},
		{"a request that filters spoilt", &upstream.Error{Kind: upstream.Unsendable}, 502},
		{"client's body too large", &upstream.Error{Kind: upstream.ClientBody, Err: exchange.ErrBodyTooLarge}, 413},
		{"client's body too slow", &upstream.Error{Kind: upstream.ClientBody, Err: exchange.ErrBodySlow}, 408},
		{"client's body malformed", &upstream.Error{Kind: upstream.ClientBody, Err: exchange.ErrBodyMalformed}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(&fakeFilter{name: "f"})
			b.upstream.forward = func(*exchange.Exchange) error { return c.err }
			x := newExchange()
			b.run(t, x)
			if x.Response.Status != c.status || b.trail.String() != ">f upstream <f" {
				t.Errorf("%d by %q; want %d", x.Response.Status, b.trail.String(), c.status)
			}
			if ct := field(x, "Content-Type"); ct != "application/problem+json" {
				t.Errorf("Content-Type %q", ct)
			}
		})
	}
}
