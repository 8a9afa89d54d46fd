package pool

import (
	"bytes"
	"slices"

	"github.com/porchedge/porch/store"
)

// plan is how several charges are taken together. Room is set aside row by row, in the order of the row
// keys, so two calls never wait for each other in a circle. When there is room everywhere all of it is
// taken, else all of it is given back. Nothing is written before.
type plan struct {
	steps [MaxCharges]step
	n     int
	parts [MaxCharges]part // of each charge, in the order of the call
}

// step is what one row is charged: all charges of the call to it together.
type step struct {
	key  store.RowKey
	rule *store.Rule
	cost int64
	room int64 // the least that a charge leaves of its limit, if the count stands at 0
	held bool
	op   store.Op // as it was answered last
	call *call    // to be answered
}

// part is one charge's part of a step.
type part struct {
	key   store.RowKey
	limit int64
	after int64 // cost up to and with this charge, of those to the same row
}

// countAll charges all or none.
func (p *Pool) countAll(charges []Charge, verdicts []Verdict, tickets *Tickets) (bool, error) {
	plan := p.plans.Get().(*plan)
	defer func() {
		clear(plan.steps[:plan.n])
		plan.n = 0
		p.plans.Put(plan)
	}()
	for i := range charges {
		row, limit, err := p.check(&charges[i])
		if err != nil {
			return false, err
		}
		plan.add(i, row, limit, &charges[i])
	}
	if err := p.admit(); err != nil {
		return false, err
	}
	plan.sort()
	allowed, err := p.hold(plan)
	if err != nil || !allowed {
		p.cancel(plan)
	} else {
		err = p.confirm(plan)
	}
	if err != nil {
		return false, err
	}
	for i := range plan.steps[:plan.n] {
		tickets.add(plan.steps[i].op.Ticket)
	}
	for i := range charges {
		verdicts[i] = plan.verdict(i, allowed)
	}
	return allowed, nil
}

func (pl *plan) add(i int, row store.RowKey, limit int64, c *Charge) {
	at := slices.IndexFunc(pl.steps[:pl.n], func(s step) bool { return s.key == row })
	if at < 0 {
		at = pl.n
		pl.n++
		pl.steps[at] = step{key: row, rule: &c.Policy.rule, room: limit}
	}
	s := &pl.steps[at]
	s.cost += c.Cost
	s.room = min(s.room, limit-s.cost)
	pl.parts[i] = part{key: row, limit: limit, after: s.cost}
}

func (pl *plan) sort() {
	slices.SortFunc(pl.steps[:pl.n], func(a, b step) int { return bytes.Compare(a.key[:], b.key[:]) })
}

// hold sets room aside in every row. After the first refusal the other rows are only looked at, for their
// verdicts.
func (p *Pool) hold(pl *plan) (allowed bool, err error) {
	allowed = true
	for i := range pl.steps[:pl.n] {
		s := &pl.steps[i]
		kind := store.OpHold
		if !allowed {
			kind = store.OpPeek
		}
		c := p.newCall(callStore)
		// The cost of all fits exactly where each charge in its turn leaves none of its limit below 0.
		c.op = store.Op{Kind: kind, Key: s.key, Rule: s.rule, Cost: s.cost, Limit: s.cost + s.room}
		if err := p.ask(p.shard(s.key), c); err != nil {
			return false, err
		}
		s.op = c.op
		p.free(c)
		ok := s.op.Outcome == store.Allowed
		s.held = ok && kind == store.OpHold
		allowed = allowed && ok
	}
	return allowed, nil
}

// confirm takes what is held, in all rows at once.
func (p *Pool) confirm(pl *plan) (err error) {
	for i := range pl.steps[:pl.n] {
		s := &pl.steps[i]
		c := p.newCall(callStore)
		c.op = store.Op{Kind: store.OpConfirm, Key: s.key, Rule: s.rule, Cost: s.cost, Limit: s.cost + s.room}
		if !p.shard(s.key).inbox.pushSecond(c) {
			p.free(c)
			err = ErrClosed
			continue
		}
		s.call = c
	}
	for i := range pl.steps[:pl.n] {
		s := &pl.steps[i]
		if s.call == nil {
			continue
		}
		if late := p.await(s.call); late != nil {
			err = late
			continue
		}
		if s.call.err != nil {
			err = s.call.err
		}
		s.op = s.call.op
		p.free(s.call)
	}
	return err
}

// cancel gives back what is held.
func (p *Pool) cancel(pl *plan) {
	for i := range pl.steps[:pl.n] {
		s := &pl.steps[i]
		if s.held {
			p.shard(s.key).forget(callStore, func(c *call) {
				c.op = store.Op{Kind: store.OpCancel, Key: s.key, Rule: s.rule, Cost: s.cost}
			})
		}
	}
}

// verdict is that of charge i, from what its row answered to all charges together.
func (pl *plan) verdict(i int, allowed bool) Verdict {
	part := &pl.parts[i]
	at := slices.IndexFunc(pl.steps[:pl.n], func(s step) bool { return s.key == part.key })
	s := &pl.steps[at]
	used := s.op.Verdict.Used
	if s.op.Verdict.Allowed {
		used -= s.cost // without this call
	}
	v := Verdict{
		Allowed:    allowed || used+part.after <= part.limit,
		Used:       used,
		Limit:      part.limit,
		ResetAfter: ceil(s.op.Verdict.ResetAfter),
	}
	if allowed {
		v.Used += part.after
	}
	v.Remaining = max(0, part.limit-v.Used)
	v.ResetAt = s.op.Wall.Add(v.ResetAfter)
	switch {
	case v.Allowed:
	case part.after > part.limit:
		v.RetryAfter = -1
	default:
		v.RetryAfter = v.ResetAfter
	}
	return v
}
