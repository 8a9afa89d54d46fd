package pool

import (
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/store"
)

// callKind is what a message to a shard asks.
type callKind uint8

const (
	callStore    callKind = iota // one operation of the store, for which only the outcome matters
	callBegin                    // claim a key
	callComplete                 // the owner has a response to store
	callRelease                  // an owner or a waiter gives up
	callForget                   // an owner knows that there is nothing to replay
	callAbandon                  // an owner does not know how its request has ended
)

// Who has a call. The caller has it until it is pushed and again once it is answered; between, the shard.
// A caller that will not wait any longer leaves it to the shard for good.
const (
	callOpen int32 = iota
	callAnswered
	callAbandoned
)

// call is a message to a shard and its answer. Calls are used again.
type call struct {
	kind  callKind
	op    store.Op
	asks  bool   // op is to be applied
	skip  bool   // nobody waits for it any more, and it was not decided
	claim *Claim // of a flight's call
	// bounded says that it counts against the mailbox until it is answered.
	bounded bool
	// forget says that nobody waits for the answer.
	forget bool
	err    error

	state atomic.Int32
	done  chan struct{} // one place: the shard never waits for a caller
	timer *time.Timer
}

func newCall() *call {
	c := &call{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}

func (p *Pool) newCall(kind callKind) *call {
	c := p.calls.Get().(*call)
	c.kind = kind
	c.asks = kind == callStore || kind == callComplete || kind == callForget
	return c
}

// free gives a call back that nobody else has.
func (p *Pool) free(c *call) {
	c.op = store.Op{}
	c.claim = nil
	c.skip, c.bounded, c.forget = false, false, false
	c.err = nil
	c.state.Store(callOpen)
	p.calls.Put(c)
}

// ask pushes new work and waits for the answer, at most the time that shards have. Without an error the
// call is the caller's to free; with one it is gone.
func (p *Pool) ask(s *shard, c *call) error {
	err := p.askOnce(s, c)
	if err != ErrCapacity {
		return err
	}
	if p.makeRoom(c.op.Rule) {
		c.err = nil
		c.state.Store(callOpen)
		if err = p.askOnce(s, c); err != ErrCapacity {
			return err
		}
	}
	p.free(c)
	return err
}

// askOnce is ask, but that after ErrCapacity the call is still the caller's.
func (p *Pool) askOnce(s *shard, c *call) error {
	c.bounded = true
	if err := s.inbox.push(c); err != nil {
		p.free(c)
		return err
	}
	if err := p.await(c); err != nil {
		return err
	}
	if err := c.err; err != nil {
		if err != ErrCapacity {
			p.free(c)
		}
		return err
	}
	return nil
}

// await waits for the answer to a call that was pushed. ErrUnavailable says that none came in time, and
// that the call is the shard's now.
func (p *Pool) await(c *call) error {
	c.timer.Reset(p.cfg.AnswerWithin)
	select {
	case <-c.done:
		c.timer.Stop()
		return nil
	case <-c.timer.C:
		if c.state.CompareAndSwap(callOpen, callAbandoned) {
			return ErrUnavailable
		}
		<-c.done
		return nil
	}
}
