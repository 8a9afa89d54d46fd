package store

import (
	"sync/atomic"

	"github.com/porchedge/porch/store/clock"
)

// shard is the rows that one owner has in memory, and the batch it is at. Only Apply of that owner touches
// it, but for the counts.
type shard struct {
	store     *Embedded
	counters  *counters
	volatile  *counters // durability none: there is nothing behind them
	responses *responses
	reserved  *reservations

	now   clock.Reading
	token uint64            // of the newest reservation; larger than any of an earlier life
	name  [rowNameSize]byte // of the row that is being read

	// What the batch at hand has to write.
	written []int32 // places in counters
	put     []*hot
	claimed []*reservation
	refiled []filing

	// The two commits that this shard has written to last. No older one can be open: one is under way and
	// one gathers at any time.
	latest, former *commit

	count struct{ hot, bytes, volatile atomic.Int64 }
}

func newShard(e *Embedded) *shard {
	return &shard{store: e, counters: newCounters(), volatile: newCounters(), responses: newResponses(), reserved: newReservations()}
}

// reclaimSteps is how many volatile counters each batch, and each counter that finds no room, looks at.
const reclaimSteps = 64

// sweepSteps is how many an OpSweep looks at: it is asked when a policy is full.
const sweepSteps = 4096

func (s *shard) apply(batch []*Op) {
	s.now = s.store.clock.Read()
	gone := s.store.health.gone() != nil
	unready := s.store.health.ready() != nil
	for _, op := range batch {
		op.Wall = s.now.Wall
		op.Ticket = nil
		op.row = none
		if gone || unready && op.Kind.isNew() {
			op.Outcome = Unavailable
			continue
		}
		s.decide(op)
	}
	s.hand(batch)
	s.shrink()
}

func (s *shard) decide(op *Op) {
	switch op.Kind {
	case OpLookup:
		s.lookup(op)
	case OpPut:
		s.keep(op)
	case OpReserve:
		s.reserve(op)
	case OpUnreserve:
		s.unreserve(op)
	case OpStart:
		s.startRow(op)
	case OpForget:
		s.forget(op)
	case OpVacate:
		s.store.capacity.of(op.Rule.Policy).give()
		op.Outcome = Done
	case OpExpire:
		s.expire(op)
	case OpSweep:
		op.Outcome = Absent
		if s.reclaim(sweepSteps) > 0 {
			op.Outcome = Done
		}
	default:
		if op.Rule.Durability == None {
			s.charge(op, s.volatile, s.placeVolatile(op))
		} else {
			s.charge(op, s.counters, s.place(op))
		}
	}
}

// unreadable refuses an operation whose row cannot be read. Guessing would forget what was promised.
func (s *shard) unreadable(op *Op, err error) {
	op.Outcome = Unavailable
	s.store.cfg.Logger.Error("a row cannot be read", "error", err)
}

// hand passes what the batch wrote on to the committer, and gives each operation the ticket of the row that
// it read: the one of this batch, or an earlier one that is still open.
func (s *shard) hand(batch []*Op) {
	var own uint64 // number of the commit that the batch wrote to
	if len(s.written)+len(s.put)+len(s.claimed)+len(s.refiled) > 0 {
		c := s.store.commit.add(s, len(batch))
		own = c.number
		if c != s.latest {
			s.former, s.latest = s.latest, c
		}
		for _, i := range s.written {
			s.counters.slots[i].touched = false
		}
		s.written = s.written[:0]
		clear(s.put)
		s.put = s.put[:0]
		clear(s.claimed)
		s.claimed = s.claimed[:0]
		s.refiled = s.refiled[:0]
	}
	durable := s.store.commit.durable.Load()
	for _, op := range batch {
		if op.Outcome == Unavailable || op.Outcome == Full || op.Kind == OpExpire {
			continue
		}
		var number uint64
		switch {
		case op.row != none && op.Rule.Durability == Sync:
			number = s.counters.slots[op.row].commit
		case op.Kind == OpLookup && op.Outcome != Absent, op.Kind == OpPut, op.Kind == OpStart, op.Kind == OpForget && op.Outcome == Done:
			number = s.responses.find(op.Key).commit
		case op.Kind == OpReserve:
			number = s.reserved.find(op.Key).commit
		}
		if number > durable || number != 0 && number == own {
			op.Ticket = s.ticket(number)
		}
	}
}

// ticket is that of a commit which was open a moment ago. Somebody will wait for it.
func (s *shard) ticket(number uint64) *Ticket {
	for _, c := range []*commit{s.latest, s.former} {
		if c != nil && c.number == number {
			s.store.commit.hasten(c)
			return &c.Ticket
		}
	}
	panic("store: a row waits for a commit that its shard does not know")
}

func (s *shard) shrink() {
	durable := s.store.commit.durable.Load()
	cfg, n := &s.store.cfg, len(s.store.shards)
	s.counters.shrink(max(1, cfg.HotRows/n), durable)
	s.responses.shrink(max(1, cfg.HotBytes/int64(n)), durable)
	s.reserved.shrink(max(1, cfg.HotRows/n), durable)
	if s.volatile.len() > 0 {
		s.reclaim(reclaimSteps)
	}
	s.count.hot.Store(int64(s.counters.len()))
	s.count.bytes.Store(s.responses.bytes)
	s.count.volatile.Store(int64(s.volatile.len()))
}
