package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/porchedge/porch/store/clock"
)

// shard is the rows that one owner has in memory, and the batch it is at. Only Apply of that owner touches
// it, but for the counts.
type shard struct {
	store     *Embedded
	counters  *counters
	volatile  *counters // durability none: there is nothing behind them
	responses *responses

	now  clock.Reading
	name [rowNameSize]byte // of the row that is being read

	// What the batch at hand has to write.
	written []int32 // places in counters
	put     []*hot

	// The two commits that this shard has written to last. No older one can be open: one is under way and
	// one gathers at any time.
	latest, former *commit

	count struct{ hot, bytes, volatile atomic.Int64 }
}

func newShard(e *Embedded) *shard {
	return &shard{store: e, counters: newCounters(), volatile: newCounters(), responses: newResponses()}
}

// reclaimSteps is how many volatile counters each batch, and each counter that finds no room, looks at.
const reclaimSteps = 64

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
	default:
		if op.Rule.Durability == None {
			s.charge(op, s.volatile, s.placeVolatile(op))
		} else {
			s.charge(op, s.counters, s.place(op))
		}
	}
}

// place is where the counter of op is in memory. On none op has its outcome.
func (s *shard) place(op *Op) int32 {
	if i := s.counters.find(op.Key); i != none {
		return i
	}
	putRowName(s.name[:], tableCounter, op.Key)
	value, closer, err := s.store.db.Get(s.name[:])
	if errors.Is(err, pebble.ErrNotFound) {
		return s.counters.add(op.Key, op.Rule.Policy, Row{}, false)
	}
	if err != nil {
		s.unreadable(op, err)
		return none
	}
	row, err := getCounter(value)
	closer.Close()
	if err != nil {
		s.unreadable(op, err)
		return none
	}
	return s.counters.add(op.Key, op.Rule.Policy, row, true)
}

// unreadable refuses an operation whose row cannot be read. Guessing would forget what was promised.
func (s *shard) unreadable(op *Op, err error) {
	op.Outcome = Unavailable
	s.store.cfg.Logger.Error("a row cannot be read", "error", err)
}

func (s *shard) placeVolatile(op *Op) int32 {
	if i := s.volatile.find(op.Key); i != none {
		return i
	}
	bound := max(1, s.store.cfg.VolatileRows/len(s.store.shards))
	if s.volatile.len() >= bound {
		s.volatile.reclaim(s.now.Store, reclaimSteps)
	}
	if s.volatile.len() >= bound {
		op.Outcome = Full
		return none
	}
	return s.volatile.add(op.Key, op.Rule.Policy, Row{}, false)
}

// charge decides a counter operation on the counter at place i of t.
func (s *shard) charge(op *Op, t *counters, i int32) {
	if i == none {
		return
	}
	c := &t.slots[i]
	ask := Charge{Cost: op.Cost, Limit: op.Limit, Window: op.Rule.Window}
	switch op.Kind {
	case OpCancel:
		c.held -= op.Cost
		op.Outcome = Done
		return
	case OpConfirm:
		c.held -= op.Cost
		ask.Reserved = true
	}
	row, verdict := op.Rule.Algorithm.decide(c.row, ask, s.now.Store)
	op.Verdict = verdict
	if op.Rule.Durability != None {
		op.row = i
	}
	switch {
	case !verdict.Allowed:
		op.Outcome = Refused
		return
	case (op.Kind == OpCharge || op.Kind == OpHold) && c.held > 0 && !s.roomBeside(c, op, ask):
		op.Outcome = Contended
		return
	}
	op.Outcome = Allowed
	switch op.Kind {
	case OpHold:
		c.held += op.Cost
	case OpCharge, OpConfirm:
		c.row = row
		c.algorithm, c.durability = op.Rule.Algorithm, op.Rule.Durability
		if op.Rule.Durability != None && !c.touched {
			c.touched = true
			s.written = append(s.written, i)
		}
	}
}

// roomBeside says whether the charge has room even if all that others hold is taken.
func (s *shard) roomBeside(c *counter, op *Op, ask Charge) bool {
	ask.Cost += c.held
	_, verdict := op.Rule.Algorithm.decide(c.row, ask, s.now.Store)
	return verdict.Allowed
}

func (s *shard) lookup(op *Op) {
	h := s.responses.find(op.Key)
	if h == nil {
		putRowName(s.name[:], tableResponse, op.Key)
		value, closer, err := s.store.db.Get(s.name[:])
		if errors.Is(err, pebble.ErrNotFound) {
			op.Outcome = Absent
			return
		}
		if err != nil {
			s.unreadable(op, err)
			return
		}
		r, err := getResponse(value)
		closer.Close()
		if err != nil {
			s.unreadable(op, err)
			return
		}
		h = &hot{key: op.Key, response: r}
		s.responses.put(h)
	}
	switch {
	case s.now.Store >= h.expires:
		op.Outcome = Absent
	case h.digest != op.Digest:
		op.Outcome = Differs
	default:
		op.Outcome = Found
		op.Record, op.Oversize = h.record, h.oversize
	}
}

// keep stores a response in place of what is under its key: an expired one, or nothing.
func (s *shard) keep(op *Op) {
	known := s.responses.find(op.Key)
	h := &hot{key: op.Key, rule: op.Rule, response: &response{
		digest: op.Digest, oversize: op.Oversize, record: op.Record, expires: s.now.Store + op.Rule.TTL,
	}}
	if known == nil {
		putRowName(s.name[:], tableResponse, op.Key)
		_, closer, err := s.store.db.Get(s.name[:])
		switch {
		case err == nil:
			closer.Close()
		case errors.Is(err, pebble.ErrNotFound):
			h.isNew = true
		default:
			s.unreadable(op, err)
			return
		}
	}
	s.responses.put(h)
	s.put = append(s.put, h)
	op.Outcome = Done
}

// hand passes what the batch wrote on to the committer, and gives each operation the ticket of the row that
// it read: the one of this batch, or an earlier one that is still open.
func (s *shard) hand(batch []*Op) {
	var own uint64 // number of the commit that the batch wrote to
	if len(s.written)+len(s.put) > 0 {
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
	}
	durable := s.store.commit.durable.Load()
	for _, op := range batch {
		if op.Outcome == Unavailable {
			continue
		}
		var number uint64
		switch {
		case op.row != none && op.Rule.Durability == Sync:
			number = s.counters.slots[op.row].commit
		case op.Kind == OpLookup && op.Outcome != Absent, op.Kind == OpPut:
			number = s.responses.find(op.Key).commit
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
	if s.volatile.len() > 0 {
		s.volatile.reclaim(s.now.Store, reclaimSteps)
	}
	s.count.hot.Store(int64(s.counters.len()))
	s.count.bytes.Store(s.responses.bytes)
	s.count.volatile.Store(int64(s.volatile.len()))
}

// write puts what the batch wrote into c. The committer calls it, in the shard's goroutine.
func (s *shard) write(c *commit) {
	for _, i := range s.written {
		row := &s.counters.slots[i]
		row.commit = c.number
		d := c.batch.SetDeferred(rowNameSize, counterSize)
		putRowName(d.Key, tableCounter, row.key)
		putCounter(d.Value, row.algorithm, row.row)
		d.Finish()
		if !row.onDisk {
			row.onDisk = true
			s.index(c, row.row.End, row.policy, row.key, tableCounter)
		}
		if row.durability == Sync {
			c.urgent = true
		}
	}
	for _, h := range s.put {
		h.commit = c.number
		c.urgent = true
		d := c.batch.SetDeferred(rowNameSize, headSize+len(h.record))
		putRowName(d.Key, tableResponse, h.key)
		putResponse(d.Value, h.response)
		d.Finish()
		if h.isNew {
			h.isNew = false
			s.index(c, h.expires, h.rule.Policy, h.key, tableResponse)
		}
	}
}

func (s *shard) index(c *commit, expires time.Duration, policy PolicyID, key RowKey, table byte) {
	d := c.batch.SetDeferred(indexSize, 1)
	putIndex(d.Key, expires, policy, key)
	d.Value[0] = table
	d.Finish()
}
