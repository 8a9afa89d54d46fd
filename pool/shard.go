package pool

import (
	"runtime"
	"sync/atomic"

	"github.com/porchedge/porch/store"
)

// shard is one actor: the only one that decides about its rows and flights. All fields but inbox, idle and
// count belong to its goroutine.
type shard struct {
	pool  *Pool
	index int
	inbox *mailbox
	idle  chan struct{} // closed when the mailbox is closed and no flight is open

	flights map[store.RowKey]*flight
	// parked are charges that only room set aside by others stands in the way of, until that is settled.
	parked map[store.RowKey][]*call

	second, work []*call     // the batch at hand
	again        []*call     // new work for the next batch, before what the mailbox has
	ops          []*store.Op // of the batch
	ready        []*call     // answered by the batch
	waiters      int         // of all flights
	emptied      bool        // idle is closed

	count struct{ flights, waiters atomic.Int64 }
}

func newShard(p *Pool, index int) *shard {
	return &shard{
		pool:    p,
		index:   index,
		inbox:   newMailbox(p.cfg.Mailbox),
		idle:    make(chan struct{}),
		flights: map[store.RowKey]*flight{},
		parked:  map[store.RowKey][]*call{},
	}
}

func (s *shard) run() {
	for {
		var closed, stopped bool
		s.second, s.work, closed, stopped = s.inbox.drain(s.second, s.work)
		if len(s.second)+len(s.work)+len(s.again) > 0 {
			s.turn()
			continue
		}
		if closed {
			s.closing()
		}
		if stopped {
			s.end()
			return
		}
		<-s.inbox.wake
		runtime.Gosched() // whoever else is about to push goes first: one batch for all of them
	}
}

// turn decides one batch: what ends admitted work, then what waited already, then what is new.
func (s *shard) turn() {
	again := s.again
	s.again = nil
	batches := [...][]*call{s.second, again, s.work}
	for _, batch := range batches {
		for _, c := range batch {
			s.prepare(c)
		}
	}
	if len(s.ops) > 0 {
		s.pool.store.Apply(s.index, s.ops)
	}
	clear(s.ops)
	s.ops = s.ops[:0]
	for _, batch := range batches {
		for _, c := range batch {
			s.finish(c)
		}
	}
	clear(s.second)
	clear(s.work)
	s.answer()
}

// prepare has the store's part of a call applied with the batch.
func (s *shard) prepare(c *call) {
	if c.state.Load() == callAbandoned {
		c.skip = true
		return
	}
	if c.kind == callBegin {
		c.asks = s.flights[c.op.Key] == nil // a flight answers for its key
	}
	if c.claim != nil && c.claim.flight != nil && (c.op.Kind == store.OpPut || c.op.Kind == store.OpStart) {
		c.op.Placed = c.claim.flight.placed
	}
	if c.asks {
		s.ops = append(s.ops, &c.op)
	}
}

// finish takes a call's outcome, and answers it or keeps it for later.
func (s *shard) finish(c *call) {
	if c.skip {
		s.reply(c)
		return
	}
	switch c.kind {
	case callStore:
		s.settle(c)
	case callBegin:
		s.begin(c)
	case callComplete:
		s.complete(c)
	case callRelease:
		s.leave(c.claim)
		s.reply(c)
	case callForget:
		s.forgotten(c)
	case callAbandon:
		s.abandon(c.claim)
		s.reply(c)
	}
}

// settle takes the outcome of a counter operation. What it gives back or takes for good may let those go on
// who waited for it.
func (s *shard) settle(c *call) {
	key := c.op.Key
	switch {
	case c.op.Outcome == store.Contended:
		s.parked[key] = append(s.parked[key], c)
		return
	case c.op.Kind == store.OpConfirm, c.op.Kind == store.OpCancel:
		s.again = append(s.again, s.parked[key]...)
		delete(s.parked, key)
	}
	if c.op.Kind == store.OpStart && c.op.Outcome == store.Done && c.claim.flight != nil {
		c.claim.flight.placed = false
	}
	c.err = outcomeError(c.op.Outcome)
	s.reply(c)
}

func outcomeError(o store.Outcome) error {
	switch o {
	case store.Unavailable:
		return ErrUnavailable
	case store.Full:
		return ErrCapacity
	default:
		return nil
	}
}

// reply has a call answered at the end of the turn.
func (s *shard) reply(c *call) { s.ready = append(s.ready, c) }

// answer wakes the callers of what the turn has decided. Room in the mailbox comes first, so that a caller
// who goes on at once is not refused because of its own former call.
func (s *shard) answer() {
	news := 0
	for _, c := range s.ready {
		if c.bounded {
			news++
		}
	}
	s.inbox.answered(news)
	s.publish()
	for _, c := range s.ready {
		switch {
		case c.forget:
			s.pool.free(c)
		case c.state.CompareAndSwap(callOpen, callAnswered):
			c.done <- struct{}{}
		default:
			s.disown(c)
		}
	}
	clear(s.ready)
	s.ready = s.ready[:0]
}

// disown undoes what was decided for a caller that has given up meanwhile. A charge stays charged: it is as
// if its answer had been lost.
func (s *shard) disown(c *call) {
	switch {
	case c.kind == callBegin && c.claim.flight != nil:
		s.forget(callRelease, func(r *call) { r.claim = c.claim })
	case c.op.Kind == store.OpHold && c.op.Outcome == store.Allowed:
		s.forget(callStore, func(r *call) {
			r.op = store.Op{Kind: store.OpCancel, Key: c.op.Key, Rule: c.op.Rule, Cost: c.op.Cost}
		})
	case c.op.Outcome == store.Reserved:
		s.forget(callStore, func(r *call) {
			r.op = store.Op{Kind: store.OpUnreserve, Key: c.op.Key, Rule: c.op.Rule, Token: c.op.Token}
		})
	}
	s.pool.free(c)
}

// forget pushes a call to the second queue that nobody waits for.
func (s *shard) forget(kind callKind, fill func(*call)) {
	c := s.pool.newCall(kind)
	c.forget = true
	fill(c)
	if !s.inbox.pushSecond(c) {
		s.pool.free(c)
	}
}

// publish counts what is open, for Stats.
func (s *shard) publish() {
	s.count.flights.Store(int64(len(s.flights)))
	s.count.waiters.Store(int64(s.waiters))
}

// closing sends waiters away once the pool closes, and tells when no flight is open.
func (s *shard) closing() {
	for _, f := range s.flights {
		s.dismiss(f, grant{err: ErrClosed})
	}
	s.publish()
	if len(s.flights) == 0 && !s.emptied {
		s.emptied = true
		close(s.idle)
	}
}

// end answers what still waits for others when the shard stops.
func (s *shard) end() {
	for key, calls := range s.parked {
		for _, c := range calls {
			c.err = ErrClosed
			s.reply(c)
		}
		delete(s.parked, key)
	}
	clear(s.flights)
	s.answer()
}
