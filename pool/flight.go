package pool

import "github.com/porchedge/porch/store"

// flight is one execution of a key: its owner, and the duplicates that wait in the order of their coming.
// It belongs to its shard's goroutine.
type flight struct {
	digest  [store.DigestSize]byte
	owner   *Claim
	waiters line
	placed  bool // a place for its row is taken
}

// grant is what a waiter gets.
type grant struct {
	state    State
	record   []byte
	oversize bool
	ticket   *store.Ticket
	err      error
}

// begin decides a claim: against the flight of its key, or against what is stored.
func (s *shard) begin(c *call) {
	claim := c.claim
	f := s.flights[c.op.Key]
	placed := c.op.Placed
	switch {
	case f != nil && f.digest != c.op.Digest:
		claim.state = Mismatch
	case f != nil && f.waiters.n >= claim.policy.waiters:
		c.err = ErrSaturated
	case f != nil:
		claim.state = Joined
		claim.granted = make(chan grant, 1)
		claim.flight = f
		f.waiters.push(claim)
		s.waiters++
	case !c.asks:
		// The flight that was to answer has ended in this batch: ask the store.
		s.again = append(s.again, c)
		return
	case c.op.Outcome == store.Found:
		claim.state = Replay
		claim.record, claim.oversize = c.op.Record, c.op.Oversize
	case c.op.Outcome == store.Differs:
		claim.state = Mismatch
	case c.op.Outcome == store.Started:
		claim.state = Unknown
	case c.op.Outcome != store.Absent:
		c.err = outcomeError(c.op.Outcome)
	case len(s.flights) >= s.pool.cfg.Mailbox:
		c.err = ErrSaturated
	default:
		claim.state = Execute
		claim.flight = &flight{digest: c.op.Digest, owner: claim, placed: placed}
		s.flights[c.op.Key] = claim.flight
		placed = false
	}
	if placed {
		s.vacate(claim.policy)
	}
	s.reply(c)
}

// complete ends a flight whose response is stored, or could not be. Its waiters share what became of it: the
// upstream has acted, so none of them may run.
func (s *shard) complete(c *call) {
	claim := c.claim
	c.err = outcomeError(c.op.Outcome)
	if f := claim.flight; f != nil {
		delete(s.flights, claim.key)
		claim.flight = nil
		if f.placed && c.err != nil {
			s.vacate(claim.policy)
		}
		s.dismiss(f, grant{
			state: Replay, record: c.op.Record, oversize: c.op.Oversize, ticket: c.op.Ticket, err: c.err,
		})
	}
	s.reply(c)
}

// leave takes a claim out of its flight. When the owner leaves, the next waiter owns the flight; without
// one the key is free.
func (s *shard) leave(claim *Claim) {
	f := claim.flight
	if f == nil {
		return
	}
	claim.flight = nil
	if f.owner != claim {
		f.waiters.remove(claim)
		s.waiters--
		return
	}
	next := f.waiters.pop()
	if next == nil {
		delete(s.flights, claim.key)
		if f.placed {
			s.vacate(claim.policy)
		}
		return
	}
	s.waiters--
	f.owner = next
	next.granted <- grant{state: Execute}
}

// vacate gives back the place for a row that will not come.
func (s *shard) vacate(policy *Policy) {
	s.forget(callStore, func(c *call) {
		c.op = store.Op{Kind: store.OpVacate, Rule: &policy.rule}
	})
}

// dismiss sends all waiters of a flight away with the same grant.
func (s *shard) dismiss(f *flight, g grant) {
	for w := f.waiters.pop(); w != nil; w = f.waiters.pop() {
		s.waiters--
		w.flight = nil
		w.granted <- g
	}
}

// line is the waiters of a flight, first come first. A claim stands in at most one.
type line struct {
	first, last *Claim
	n           int
}

func (l *line) push(c *Claim) {
	c.before = l.last
	if l.last != nil {
		l.last.behind = c
	} else {
		l.first = c
	}
	l.last = c
	l.n++
}

func (l *line) pop() *Claim {
	c := l.first
	if c != nil {
		l.remove(c)
	}
	return c
}

func (l *line) remove(c *Claim) {
	if c.before != nil {
		c.before.behind = c.behind
	} else {
		l.first = c.behind
	}
	if c.behind != nil {
		c.behind.before = c.before
	} else {
		l.last = c.before
	}
	c.before, c.behind = nil, nil
	l.n--
}
