package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

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

func (s *shard) placeVolatile(op *Op) int32 {
	if i := s.volatile.find(op.Key); i != none {
		return i
	}
	bound := max(1, s.store.cfg.VolatileRows/len(s.store.shards))
	if s.volatile.len() >= bound {
		s.reclaim(reclaimSteps)
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
		s.vacate(c)
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
	if op.Kind != OpPeek && !s.occupy(c, op.Rule) {
		op.Outcome = Full
		return
	}
	op.Outcome = Allowed
	switch op.Kind {
	case OpHold:
		c.held += op.Cost
	case OpCharge, OpConfirm:
		c.row = row
		c.algorithm, c.durability = op.Rule.Algorithm, op.Rule.Durability
		if op.Rule.Durability != None {
			s.touch(i)
		}
	}
}

// touch has the batch write the counter at place i.
func (s *shard) touch(i int32) {
	if c := &s.counters.slots[i]; !c.touched {
		c.touched = true
		s.written = append(s.written, i)
	}
}

// occupy takes a place among the policy's rows for a counter that has none.
func (s *shard) occupy(c *counter, rule *Rule) bool {
	if !c.counted {
		c.counted = s.store.capacity.of(rule.Policy).take(rule.MaxKeys)
	}
	return c.counted
}

// vacate gives the place of a counter back that room was set aside in, and nothing was taken from.
func (s *shard) vacate(c *counter) {
	if c.counted && c.held == 0 && c.row == (Row{}) {
		c.counted = false
		s.store.capacity.of(c.policy).give()
	}
}

// roomBeside says whether the charge has room even if all that others hold is taken.
func (s *shard) roomBeside(c *counter, op *Op, ask Charge) bool {
	ask.Cost += c.held
	_, verdict := op.Rule.Algorithm.decide(c.row, ask, s.now.Store)
	return verdict.Allowed
}

// reclaim drops counters of durability none whose time is over. It looks at the next steps of them, and
// returns how many it has dropped.
func (s *shard) reclaim(steps int) int {
	return s.volatile.reclaim(s.now.Store, steps, func(c *counter) {
		if c.counted {
			s.store.capacity.of(c.policy).give()
		}
	})
}
