package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/head"
	"github.com/porchedge/porch/host/edge/listen"
	"github.com/porchedge/porch/host/edge/peer"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/edge/route"
	"github.com/porchedge/porch/host/exchange"
)

// call is one request being served: its exchange, and what the edge itself holds for it. It belongs to the
// goroutine of its connection, and is given back exactly once, by end.
type call struct {
	server *Server
	conn   *listen.Conn
	table  *Table
	chain  Chain // nil where the edge itself answers
	x      *exchange.Exchange
	body   *body // nil if there is none
	held   int64 // bytes of body in memory; -1 if it is not held
	began  time.Time
	out    stream // of the response, where it has one
	ended  bool
}

// headOf is the head as fasthttp read it. What Read says of it does not change while the request is
// served, whatever headReceived did to the header since.
func headOf(h *fasthttp.RequestHeader) head.Head {
	return head.Head{Method: h.Method(), Target: h.RequestURI(), Protocol: h.Protocol(), Fields: h.RawHeaders()}
}

// begin opens the exchange of a request and chooses its route. A request that may not go on has its
// answer when begin returns.
func (s *Server) begin(ctx *fasthttp.RequestCtx) *call {
	c := s.open(ctx)
	switch {
	case c.answered():
	case c.table == nil:
		problem.Fill(c.x, problem.Unavailable("this server has nothing to serve yet"))
	default:
		c.choose()
	}
	return c
}

// open opens the exchange: who asks, and for what. A head that is refused has its answer.
func (s *Server) open(ctx *fasthttp.RequestCtx) *call {
	c := &call{server: s, conn: ctx.Conn().(*listen.Conn), x: exchange.Acquire(), held: -1, began: time.Now()}
	s.load.requests.Add(1)
	x := c.x
	_, err := headOf(&ctx.Request.Header).Read(&x.Request, s.limits)
	x.Request.Header.RemoveHopByHop()
	x.Peer = peer.Address(c.conn.RemoteAddr())
	x.Client = x.Peer
	if c.table = s.enter(); c.table != nil {
		x.Client, x.PeerTrusted = c.table.proxies.Client(x.Peer, &x.Request.Header)
	}
	x.ID = peer.RequestID(x.PeerTrusted, &x.Request.Header)
	if err != nil {
		problem.Fill(x, refusal(err))
	}
	return c
}

// choose finds the route and readies its chain.
func (c *call) choose() {
	x := c.x
	r := &x.Request
	i, canonical, err := c.table.rules.Choose(r.Authority, r.Path, r.Method)
	if err != nil {
		problem.Fill(x, routeProblem(err))
		return
	}
	chosen := &c.table.routes[i]
	r.RoutePath = canonical
	x.Route = chosen.Name
	if r.Length != 0 {
		c.body = &body{conn: c.conn, length: r.Length, limit: c.server.limits.Body}
		r.Stream = c.body
	}
	c.chain = chosen.Chain
	c.chain.Start(x)
}

// serve is fasthttp's handler: the whole way of a request, but for what expect has done already.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	conn := ctx.Conn().(*listen.Conn)
	if !conn.Serving() {
		return // closed while the request was on its way; nobody would learn what became of it
	}
	c := pending(ctx)
	if c == nil {
		c = s.begin(ctx)
	}
	defer c.rescue(ctx)
	if c.body != nil {
		c.body.from = ctx.RequestBodyStream()
	}
	for c.advance() == chain.StepNeedBody {
		c.hold()
	}
	c.answer(ctx)
}

// advance runs the filters until one needs the body, or all is decided.
func (c *call) advance() chain.Step {
	if c.answered() {
		return chain.StepDecided
	}
	return c.chain.Advance(c.x)
}

// answered says whether there is a response already, so that the upstream is not asked.
func (c *call) answered() bool { return c.x.Response.Source != exchange.FromNone }

// hold reads the body into memory for the filters. One that cannot be held is answered.
func (c *call) hold() {
	r := &c.x.Request
	held, err := c.body.hold(c.chain.BodyCap(c.x))
	if err != nil {
		problem.Fill(c.x, chain.BodyProblem(err))
		return
	}
	r.Body, r.Held, r.Stream, r.Length = held, true, nil, int64(len(held))
	c.held = r.Length
	c.server.load.bodies.Add(1)
	c.server.load.bytes.Add(c.held)
}

// answer brings the exchange to its response and writes it.
func (c *call) answer(ctx *fasthttp.RequestCtx) {
	if c.chain != nil {
		if err := c.chain.Finish(c.x); err != nil {
			c.server.log.LogAttrs(context.Background(), slog.LevelError, "no response may leave",
				slog.String("route", c.x.Route), slog.String("request", c.x.ID), slog.Any("error", err))
			c.conn.Abort()
			c.end(0)
			return
		}
	}
	c.write(ctx)
}

// rescue answers for a panic. fasthttp would end the process.
func (c *call) rescue(ctx *fasthttp.RequestCtx) {
	cause := recover()
	if cause == nil {
		return
	}
	c.logPanic(cause)
	if c.ended {
		c.conn.Abort()
		return
	}
	defer func() {
		if recover() != nil { // what is broken so far is not answered any more
			c.conn.Abort()
			c.end(0)
		}
	}()
	ctx.Response.Reset()
	c.x.Response.Close()
	problem.Fill(c.x, problem.Problem{Status: http.StatusInternalServerError, Detail: "the request could not be served"})
	c.write(ctx)
}

// end gives everything back, once. status is what the client saw; 0 if nothing.
func (c *call) end(status int) {
	if c.ended {
		return
	}
	c.ended = true
	s, x := c.server, c.x
	c.giveBack()
	if c.held >= 0 {
		s.load.bodies.Add(-1)
		s.load.bytes.Add(-c.held)
	}
	c.table.leave()
	name := x.Route
	c.x = nil
	x.Release()
	s.load.requests.Add(-1)
	if s.cfg.Observer != nil {
		s.cfg.Observer.Served(name, status, time.Since(c.began))
	}
}

// giveBack lets the body, the upstream and the chain go, in this order: the upstream may be waiting for
// the body. A panic of theirs must not end the process.
func (c *call) giveBack() {
	defer func() {
		if cause := recover(); cause != nil {
			c.logPanic(cause)
			c.conn.Abort()
		}
	}()
	if c.chain != nil {
		defer c.chain.End(c.x)
	}
	if c.body != nil {
		c.body.Interrupt()
	}
	c.x.Response.Close()
}

func (c *call) logPanic(cause any) {
	about := []slog.Attr{slog.Any("panic", cause), slog.String("stack", string(debug.Stack()))}
	if c.x != nil {
		about = append(about, slog.String("route", c.x.Route), slog.String("request", c.x.ID))
	}
	c.server.log.LogAttrs(context.Background(), slog.LevelError, "panic while serving a request", about...)
}

func routeProblem(err error) problem.Problem {
	switch {
	case errors.Is(err, route.ErrNone):
		return problem.Problem{Status: http.StatusNotFound, Detail: "no route takes this request"}
	case errors.Is(err, route.ErrAmbiguous):
		return problem.Problem{Status: http.StatusBadRequest, Detail: "the path can be read in two ways"}
	default:
		return problem.Problem{Status: http.StatusBadRequest, Detail: "the path is malformed"}
	}
}

func refusal(err error) problem.Problem {
	var r *head.Refusal
	if errors.As(err, &r) {
		return problem.Problem{Status: r.Status, Detail: r.Detail}
	}
	return problem.Problem{Status: http.StatusBadRequest, Detail: "the request is malformed"}
}
