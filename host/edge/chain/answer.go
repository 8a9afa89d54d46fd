package chain

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/edge/upstream"
	"github.com/porchedge/porch/host/exchange"
)

// The host's own answers about a keyed request.
var (
	mismatch = problem.Problem{
		Status: http.StatusUnprocessableEntity,
		Detail: "this key was used for another request; use a new key for a new request",
	}
	stillRunning = problem.Problem{
		Status:     http.StatusConflict,
		Detail:     "the first request with this key is still running; try again later with the same key",
		RetryAfter: 1,
	}
	notStored = problem.Problem{
		Status: http.StatusConflict,
		Detail: "the request with this key has run, and its response was not kept",
	}
	unknown = problem.Problem{
		Status: http.StatusConflict,
		Detail: "a request with this key was sent on, and nobody knows what became of it; find out before you use a new key",
	}
)

// The host's own answers about an upstream or a body that failed.
var (
	unreachable = problem.Problem{Status: http.StatusBadGateway, Detail: "the upstream cannot be reached"}
	nonsense    = problem.Problem{Status: http.StatusBadGateway, Detail: "the upstream's answer cannot be used"}
	unsendable  = problem.Problem{Status: http.StatusBadGateway, Detail: "the request cannot be sent upstream as the policies left it"}
	timedOut    = problem.Problem{Status: http.StatusGatewayTimeout, Detail: "the upstream did not answer in time"}
	tooLarge    = problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the request body is too large"}
	tooSlow     = problem.Problem{Status: http.StatusRequestTimeout, Detail: "the request body came too slowly"}
	malformed   = problem.Problem{Status: http.StatusBadRequest, Detail: "the request body is malformed or was cut short"}
)

func conditionDetail(c abi.Condition) string {
	switch c {
	case abi.Saturated:
		return "too many requests are waiting for a decision"
	case abi.Capacity:
		return "a policy holds as many keys as it may"
	default:
		return "decisions cannot be taken just now"
	}
}

// forward sends x upstream and turns a failure into the host's answer.
func (c *Chain) forward(x *exchange.Exchange) {
	x.Sent = true // until there is proof that it was not, should anything panic
	err := c.upstream.Forward(x)
	if err == nil {
		x.UpstreamStatus = x.Response.Status
		return
	}
	x.Sent = !provablyUnsent(err)
	x.Response.Close()
	c.log.LogAttrs(context.Background(), slog.LevelWarn, "upstream failed",
		slog.String("route", x.Route), slog.String("request", x.ID), slog.Any("error", err))
	problem.Fill(x, upstreamProblem(err))
}

func provablyUnsent(err error) bool {
	var failure *upstream.Error
	return errors.As(err, &failure) && !failure.Sent
}

func upstreamProblem(err error) problem.Problem {
	var failure *upstream.Error
	if !errors.As(err, &failure) {
		return nonsense
	}
	switch failure.Kind {
	case upstream.Unreachable:
		return unreachable
	case upstream.Timeout:
		return timedOut
	case upstream.ClientBody:
		return BodyProblem(failure.Err)
	case upstream.Busy:
		return problem.Unavailable("too many requests wait for the upstream")
	case upstream.Unsendable:
		return unsendable
	default:
		return nonsense
	}
}

// BodyProblem is the answer to a request whose body could not be read.
func BodyProblem(err error) problem.Problem {
	switch {
	case errors.Is(err, exchange.ErrBodyTooLarge):
		return tooLarge
	case errors.Is(err, exchange.ErrBodySlow):
		return tooSlow
	default:
		return malformed
	}
}
