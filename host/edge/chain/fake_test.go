package chain

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm"
)

// trail is what happened, in order.
type trail struct{ events []string }

func (t *trail) add(format string, args ...any) {
	t.events = append(t.events, fmt.Sprintf(format, args...))
}

func (t *trail) String() string { return strings.Join(t.events, " ") }

// fakeFilter is a filter in Go: nil functions continue and change nothing.
type fakeFilter struct {
	name        string
	trail       *trail
	request     func(x *exchange.Exchange, place int) error
	response    func(x *exchange.Exchange, place int) error
	passRequest bool // porch_request is not exported
	needs       []wasm.Need
}

func (f *fakeFilter) Request(x *exchange.Exchange, place int) error {
	f.trail.add(">%s", f.name)
	if f.request == nil {
		return nil
	}
	return f.request(x, place)
}

func (f *fakeFilter) Response(x *exchange.Exchange, place int) error {
	f.trail.add("<%s", f.name)
	if f.response == nil {
		return nil
	}
	return f.response(x, place)
}

func (f *fakeFilter) HasRequest() bool   { return !f.passRequest }
func (f *fakeFilter) HasResponse() bool  { return true }
func (f *fakeFilter) Needs() []wasm.Need { return f.needs }

// respond answers a request with status.
func respond(status int) func(*exchange.Exchange, int) error {
	return func(x *exchange.Exchange, place int) error {
		x.Places[place].Status = status
		return nil
	}
}

func fail(err error) func(*exchange.Exchange, int) error {
	return func(*exchange.Exchange, int) error { return err }
}

// record leaves one response header operation and goes on.
func record(name, value string) func(*exchange.Exchange, int) error {
	return func(x *exchange.Exchange, place int) error {
		x.Places[place].Ops = append(x.Places[place].Ops,
			exchange.HeaderOp{Verb: exchange.VerbAdd, Name: []byte(name), Value: []byte(value)})
		return nil
	}
}

// fakeUpstream answers with what its function says.
type fakeUpstream struct {
	trail   *trail
	forward func(x *exchange.Exchange) error
}

func (u *fakeUpstream) Forward(x *exchange.Exchange) error {
	u.trail.add("upstream")
	return u.forward(x)
}

// answers fills the response with a status, a streamed body and fields given as name, value, ….
func answers(status int, body string, fields ...string) func(*exchange.Exchange) error {
	return func(x *exchange.Exchange) error {
		x.Response.Source = exchange.FromUpstream
		x.Response.Status = status
		for i := 0; i < len(fields); i += 2 {
			x.Response.Header.Add([]byte(fields[i]), []byte(fields[i+1]))
		}
		x.Response.Body = exchange.Body{Stream: io.NopCloser(strings.NewReader(body)), Length: int64(len(body))}
		return nil
	}
}

type passes struct{ filters []string }

func (p *passes) PassedOpen(filter string) { p.filters = append(p.filters, filter) }

// bed is a chain under test.
type bed struct {
	trail    trail
	upstream fakeUpstream
	opened   passes
	places   []Place
}

func newBed(filters ...*fakeFilter) *bed {
	b := &bed{}
	b.upstream = fakeUpstream{trail: &b.trail, forward: answers(200, "hello")}
	for _, f := range filters {
		f.trail = &b.trail
		b.places = append(b.places, Place{Name: f.name, Filter: f})
	}
	return b
}

func (b *bed) chain() *Chain {
	return New(Config{
		Places: b.places, Upstream: &b.upstream, Observer: &b.opened,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// newExchange is a request without a body.
func newExchange() *exchange.Exchange {
	x := &exchange.Exchange{ID: "request-1", Route: "/"}
	x.Request.Method = "POST"
	return x
}

// run brings x through the chain and returns its response's body.
func (b *bed) run(t *testing.T, x *exchange.Exchange) string {
	t.Helper()
	c := b.chain()
	c.Start(x)
	if step := c.Advance(x); step != StepDecided {
		t.Fatalf("Advance stopped with %v", step)
	}
	if err := c.Finish(x); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	body := bodyOf(t, x)
	c.End(x)
	return body
}

func bodyOf(t *testing.T, x *exchange.Exchange) string {
	t.Helper()
	if x.Response.Body.Stream == nil {
		return string(x.Response.Body.Bytes)
	}
	b, err := io.ReadAll(x.Response.Body.Stream)
	if err != nil {
		t.Fatalf("body: %v", err)
	}
	return string(b)
}

func field(x *exchange.Exchange, name string) string {
	v, _ := x.Response.Header.Get([]byte(name))
	return string(v)
}
