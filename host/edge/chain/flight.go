package chain

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/pool"
)

// claimedAt says whether the exchange's open claim stands at place i.
func claimedAt(x *exchange.Exchange, i int) bool {
	return x.Claim != nil && x.ClaimPlace == i
}

// release gives the claim back: the next waiter runs. It is harmless where the claim has ended.
func release(x *exchange.Exchange) {
	if x.Claim != nil {
		x.Claim.Release()
		x.Claim = nil
	}
}

// releaseAt gives back the claim of a filter that will not go on with it: what runs then runs without one.
func releaseAt(x *exchange.Exchange, i int) {
	if claimedAt(x, i) {
		release(x)
		x.Once = nil
	}
}

// board acts on a fresh claim: an owner goes on, a duplicate waits here until it owns the flight or has
// its response.
func (c *Chain) board(x *exchange.Exchange) {
	state := x.Claim.State()
	if state == pool.Joined {
		var err error
		if state, err = x.Claim.Wait(context.Background(), &x.Tickets); err != nil {
			release(x)
			problem.Fill(x, waitProblem(err))
			return
		}
	}
	switch state {
	case pool.Replay:
		c.replay(x)
	case pool.Mismatch:
		release(x)
		problem.Fill(x, mismatch)
	case pool.Unknown:
		release(x)
		problem.Fill(x, unknown)
	}
}

// start has the owner's policy store that its request is about to be sent, if it is one that refuses unknown
// outcomes. Where that cannot be stored the filter's failure policy says what becomes of the request.
func (c *Chain) start(x *exchange.Exchange) {
	if x.Claim == nil {
		return
	}
	err := x.Claim.Start(&x.Gate)
	if err == nil {
		return
	}
	i := x.ClaimPlace
	releaseAt(x, i)
	if c.places[i].Open {
		c.passOpen(i)
		return
	}
	condition := abi.Unavailable
	if errors.Is(err, pool.ErrCapacity) {
		condition = abi.Capacity
	}
	problem.Fill(x, problem.Unavailable(conditionDetail(condition)))
}

func waitProblem(err error) problem.Problem {
	if errors.Is(err, pool.ErrWaitedTooLong) {
		return stillRunning
	}
	return problem.Unavailable("the request with this key could not be waited for")
}

// replay makes the stored response the response of x.
func (c *Chain) replay(x *exchange.Exchange) {
	stored, oversize := x.Claim.Stored()
	release(x)
	x.Replayed = true
	if oversize {
		problem.Fill(x, notStored)
		return
	}
	if err := readRecord(stored, &x.Response); err != nil {
		c.log.LogAttrs(context.Background(), slog.LevelError, "stored response cannot be read",
			slog.String("request", x.ID), slog.Any("error", err))
		problem.Fill(x, problem.Unavailable("the stored response cannot be read"))
		return
	}
	x.Response.Source = exchange.FromStore
	x.Response.Header.Set([]byte(replayedName), []byte("true"))
}

const replayedName = "Idempotent-Replayed"

// settle ends the owner's flight with the response as it reaches the claim's place. Only an upstream's
// success may be stored. Once there was one the flight completes, whatever became of the response since:
// a duplicate must not run a second time. What was sent and has no answer is of an unknown outcome.
func (c *Chain) settle(x *exchange.Exchange) {
	switch {
	case storable(x.UpstreamStatus):
	case x.Sent && x.UpstreamStatus == 0:
		release(x)
		return
	default:
		c.forget(x)
		return
	}
	r := &x.Response
	if r.Source != exchange.FromUpstream || !storable(r.Status) {
		c.complete(x, nil)
		return
	}
	whole, err := hold(&r.Body, x.Once.MaxResponse)
	switch {
	case err != nil:
		// The upstream broke off: its outcome is unknown.
		release(x)
		r.Close()
		problem.Fill(x, upstreamProblem(err))
	case whole:
		c.complete(x, appendRecord(nil, r, x.Once.Headers))
	default:
		c.complete(x, nil)
	}
}

// forget gives the claim back because it is known that there is nothing to replay.
func (c *Chain) forget(x *exchange.Exchange) {
	err := x.Claim.Forget(&x.Tickets)
	release(x)
	if err != nil {
		c.log.LogAttrs(context.Background(), slog.LevelError, "a started request cannot be forgotten; its key refuses until its time is up",
			slog.String("request", x.ID), slog.Any("error", err))
	}
}

// complete stores the record, or the marker that there is none to replay.
func (c *Chain) complete(x *exchange.Exchange, record []byte) {
	var err error
	if record == nil {
		err = x.Claim.CompleteOversize(&x.Tickets)
	} else {
		err = x.Claim.Complete(record, &x.Tickets)
	}
	release(x)
	if err != nil {
		c.log.LogAttrs(context.Background(), slog.LevelError, "response cannot be stored",
			slog.String("request", x.ID), slog.Any("error", err))
		x.Response.Close()
		problem.Fill(x, problem.Unavailable("the response could not be stored"))
	}
}

func storable(status int) bool { return status >= 200 && status < 400 }

// hold reads a streamed body into memory up to limit bytes. When it is longer, what was read stays in
// front of the rest and whole is false.
func hold(b *exchange.Body, limit int64) (whole bool, err error) {
	if b.Stream == nil {
		return int64(len(b.Bytes)) <= limit, nil
	}
	if b.Length > limit {
		return false, nil
	}
	head, err := io.ReadAll(io.LimitReader(b.Stream, limit+1))
	if err != nil {
		return false, err
	}
	if int64(len(head)) > limit {
		b.Stream = &rejoined{head: head, rest: b.Stream}
		return false, nil
	}
	closeErr := b.Stream.Close()
	*b = exchange.Body{Bytes: head}
	return true, closeErr
}

// rejoined is a stream with the part that was already read back in front.
type rejoined struct {
	head []byte
	rest io.ReadCloser
}

func (r *rejoined) Read(p []byte) (int, error) {
	if len(r.head) > 0 {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	return r.rest.Read(p)
}

func (r *rejoined) Close() error { return r.rest.Close() }
