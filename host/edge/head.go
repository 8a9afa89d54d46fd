package edge

import (
	"errors"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/head"
	"github.com/porchedge/porch/host/edge/listen"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/exchange"
)

// headReceived checks a head before fasthttp acts on it: before a byte of the body is waited for, and
// before 100 Continue is sent. fasthttp goes on to the handler in any case, so a refused head is made one
// without a body after which the connection closes; begin then finds the same refusal and answers.
func (s *Server) headReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	expects, err := headOf(h).Check(s.limits)
	if err != nil {
		h.SetContentLength(0)
		h.SetConnectionClose()
	}
	if !expects {
		h.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// pendingKey is where a request waits between its expectation and its handler.
const pendingKey = "porch.pending"

// expect decides about a request whose client waits for 100 Continue: it goes on where a filter needs the
// body or the upstream is to have it. Whatever is decided without the body is answered without it.
// fasthttp closes the connection then, since the client may be sending already.
func (s *Server) expect(ctx *fasthttp.RequestCtx) (status int) {
	if !ctx.Conn().(*listen.Conn).Serving() {
		return http.StatusServiceUnavailable // closed meanwhile: nothing of this is written
	}
	c := s.begin(ctx)
	defer func() {
		if status != http.StatusContinue {
			status = ctx.Response.StatusCode()
		}
	}()
	defer c.rescue(ctx)
	if c.advance() == chain.StepNeedBody && c.x.Request.Length > c.chain.BodyCap(c.x) {
		problem.Fill(c.x, chain.BodyProblem(exchange.ErrBodyTooLarge))
	}
	if !c.answered() {
		ctx.SetUserValue(pendingKey, c)
		return http.StatusContinue
	}
	c.answer(ctx)
	return 0 // the response's
}

// pending takes over the request that expect has begun, if it did.
func pending(ctx *fasthttp.RequestCtx) *call {
	c, _ := ctx.UserValue(pendingKey).(*call)
	return c
}

// Close ends a request that was told to go on and never came to its handler: its client left, or was too
// slow. fasthttp closes the values of a request when it lets it go.
func (c *call) Close() error {
	c.end(0)
	return nil
}

// unreadable answers for what fasthttp could not read as a request.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	c := s.open(ctx)
	defer c.rescue(ctx)
	if read := len(ctx.Request.Header.RawHeaders()) > 0; !read || !c.answered() {
		problem.Fill(c.x, unreadableProblem(c.conn, err))
	}
	c.write(ctx)
}

func unreadableProblem(conn *listen.Conn, err error) problem.Problem {
	var small *fasthttp.ErrSmallBuffer
	switch {
	case conn.Failure() == listen.ErrSlow:
		return problem.Problem{Status: http.StatusRequestTimeout, Detail: "the request came too slowly"}
	case errors.As(err, &small):
		return problem.Problem{Status: http.StatusRequestHeaderFieldsTooLarge, Detail: "the head is too large"}
	case strings.Contains(err.Error(), unknownVersion):
		return refusal(head.ErrVersion)
	}
	return refusal(err)
}

// unknownVersion is in fasthttp's error for a version that is not even of the form HTTP/n.n. It has no
// error value of its own.
const unknownVersion = `unsupported http version "HTTP/`
