// Package chain runs an exchange through the filters of its route and to the upstream: forward filter by
// filter, then back over those that continued. It owns the flight of an exchange: it waits where a
// duplicate joined, stores what the owner's run gave, and gives the claim back where nothing may be
// stored. The edge calls it from the goroutine that serves the request. A response that it hands out
// rests on durable rows, so a crash cannot undo what a client saw.
package chain

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm"
)

// Filter is the live version of one filter.
type Filter interface {
	Request(x *exchange.Exchange, place int) error
	Response(x *exchange.Exchange, place int) error
	HasRequest() bool
	HasResponse() bool
	Needs() []wasm.Need
}

// Upstream is where a chain ends. Forward fills the response or returns an *upstream.Error.
type Upstream interface {
	Forward(x *exchange.Exchange) error
}

// Place is one filter in a chain.
type Place struct {
	Name   string
	Filter Filter
	// Open lets a request go on without the filter when it fails.
	Open bool
}

// Observer counts what the chain decides by itself.
type Observer interface {
	// PassedOpen is called when a request went on without a failed filter.
	PassedOpen(filter string)
}

// Config is what New needs.
type Config struct {
	Places   []Place
	Upstream Upstream
	Logger   *slog.Logger
	Observer Observer // may be nil
}

// Chain is the filters and the upstream of one route. It is immutable, and any number of exchanges run
// through it at once.
type Chain struct {
	places   []place
	upstream Upstream
	log      *slog.Logger
	observer Observer
}

type place struct {
	Place
	body []wasm.Need // the needs that ask for the request body
}

// New makes a chain.
func New(cfg Config) *Chain {
	c := &Chain{upstream: cfg.Upstream, log: cfg.Logger, observer: cfg.Observer}
	for _, p := range cfg.Places {
		c.places = append(c.places, place{Place: p, body: bodyNeeds(p.Filter)})
	}
	return c
}

// Step says why Advance stopped.
type Step uint8

// The steps.
const (
	// StepDecided: every filter has had its turn, or one of them or the host has answered.
	StepDecided Step = iota
	// StepNeedBody: the next filter needs the body, which is not held yet.
	StepNeedBody
)

// Start readies x for this chain.
func (c *Chain) Start(x *exchange.Exchange) {
	x.StartPlaces(len(c.places))
	for i := range c.places {
		x.Places[i].Filter = c.places[i].Name
	}
	if x.Request.Stream == nil {
		x.Request.Held = true
	}
}

// Advance gives the filters their turns, in order, until one needs a body that is not held yet. After the
// edge has held it, Advance goes on from there.
func (c *Chain) Advance(x *exchange.Exchange) Step {
	for x.Next < len(c.places) && x.Response.Source == exchange.FromNone {
		p := &c.places[x.Next]
		if !x.Request.Held && p.needsBody(&x.Request) {
			return StepNeedBody
		}
		i := x.Next
		x.Next++
		c.turn(x, i)
	}
	return StepDecided
}

// Finish brings x to its response: from the upstream unless somebody has answered, then back over the
// filters that continued. It returns once everything that the response rests on is durable. After an
// error the response must not leave: the client's connection is closed without a byte.
func (c *Chain) Finish(x *exchange.Exchange) error {
	if err := c.send(x); err != nil {
		return err
	}
	unreserve(x)
	c.back(x)
	if err := errors.Join(x.Gate.Wait(), x.Tickets.Wait()); err != nil {
		x.Response.Close()
		return err
	}
	return nil
}

// send sends x upstream, if nobody has answered, once all is durable that must be before the first byte.
func (c *Chain) send(x *exchange.Exchange) error {
	if x.Response.Source == exchange.FromNone {
		c.start(x)
	}
	if x.Response.Source != exchange.FromNone {
		return nil
	}
	if err := x.Gate.Wait(); err != nil {
		return err
	}
	c.forward(x)
	return nil
}

// End gives back what x still holds. It is called exactly once, when the response has left or will not.
func (c *Chain) End(x *exchange.Exchange) {
	release(x)
	unreserve(x)
}

// turn is filter i's turn on the way forward.
func (c *Chain) turn(x *exchange.Exchange, i int) {
	p, turn := &c.places[i], &x.Places[i]
	if !p.Filter.HasRequest() {
		turn.Continued = true
		return
	}
	if err := p.Filter.Request(x, i); err != nil {
		c.failed(x, i, err)
		return
	}
	if turn.Status != 0 {
		releaseAt(x, i)
		answer(x, turn)
		return
	}
	turn.Continued = true
	switch {
	case turn.Condition != 0 && p.Open:
		releaseAt(x, i)
		c.passOpen(i)
	case turn.Condition != 0:
		releaseAt(x, i)
		problem.Fill(x, problem.Unavailable(conditionDetail(abi.Condition(turn.Condition))))
	case turn.Mismatched:
		problem.Fill(x, mismatch)
	case claimedAt(x, i):
		c.board(x)
	}
}

// failed settles a filter that trapped, ran over its time or had no free instance.
func (c *Chain) failed(x *exchange.Exchange, i int, err error) {
	releaseAt(x, i)
	turn := &x.Places[i]
	turn.Ops, turn.Body, turn.Status = turn.Ops[:0], nil, 0
	c.log.LogAttrs(context.Background(), slog.LevelWarn, "filter failed",
		slog.String("filter", c.places[i].Name), slog.String("request", x.ID), slog.Any("error", err))
	if c.places[i].Open {
		c.passOpen(i)
		return
	}
	x.Response.Close()
	problem.Fill(x, problem.Unavailable("a policy of this server could not be run"))
}

func (c *Chain) passOpen(i int) {
	if c.observer != nil {
		c.observer.PassedOpen(c.places[i].Name)
	}
}

// answer makes a filter's own answer the response.
func answer(x *exchange.Exchange, turn *exchange.Place) {
	r := &x.Response
	r.Source = exchange.FromFilter
	r.Status = turn.Status
	r.Header.Reset()
	for _, op := range turn.Ops {
		r.Header.Apply(op)
	}
	r.Body = exchange.Body{Bytes: turn.Body}
}

// back runs the way back, last filter first.
func (c *Chain) back(x *exchange.Exchange) {
	for i := x.Next - 1; i >= 0; i-- {
		turn := &x.Places[i]
		if !turn.Continued {
			continue
		}
		if claimedAt(x, i) {
			c.settle(x)
		}
		for _, op := range turn.Ops {
			x.Response.Header.Apply(op)
		}
		if !c.places[i].Filter.HasResponse() {
			continue
		}
		if err := c.places[i].Filter.Response(x, i); err != nil {
			c.failed(x, i, err)
		}
	}
}

func bodyNeeds(f Filter) []wasm.Need {
	var needs []wasm.Need
	for _, n := range f.Needs() {
		if n.Features&abi.FeatureBody != 0 {
			needs = append(needs, n)
		}
	}
	return needs
}

// BodyCap is how many bytes of body may be held for x: the smallest cap among the needs that apply.
func (c *Chain) BodyCap(x *exchange.Exchange) int64 {
	most := int64(-1)
	for i := x.Next; i < len(c.places); i++ {
		for _, n := range c.places[i].body {
			if applies(n, &x.Request) && (most < 0 || n.Cap < most) {
				most = n.Cap
			}
		}
	}
	return max(most, 0)
}

func (p *place) needsBody(r *exchange.Request) bool {
	for _, n := range p.body {
		if applies(n, r) {
			return true
		}
	}
	return false
}

// applies says whether a need holds for this request: all of them where no header is named, else those
// that carry it and whose method may change something.
func applies(n wasm.Need, r *exchange.Request) bool {
	if n.Header == "" {
		return true
	}
	switch r.Method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return false
	}
	for _, f := range r.Header.Fields {
		if bytes.EqualFold(f.Name, []byte(n.Header)) {
			return true
		}
	}
	return false
}
