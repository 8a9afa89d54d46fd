package pool

import (
	"time"

	"github.com/porchedge/porch/store"
)

// Charge is one charge of a Count.
type Charge struct {
	Policy *Policy
	Key    []byte // 1 to MaxKey bytes; not kept
	Cost   int64  // 1 to MaxCost
	Limit  int64  // for this charge alone, up to MaxCost; 0 takes the policy's
}

// Verdict is the answer to one charge. Durations are rounded up to milliseconds.
type Verdict struct {
	Allowed    bool  // this charge alone
	Used       int64 // after the charge if all were allowed, else as it stands
	Limit      int64
	Remaining  int64
	ResetAfter time.Duration
	ResetAt    time.Time     // wall clock
	RetryAfter time.Duration // 0 if allowed; -1 if waiting does not help
}

// Count charges all or none. verdicts has a place for each charge. What the answer rests on is added to
// tickets, on refusal too. Errors are ErrInvalid, ErrSaturated, ErrUnavailable, ErrCapacity and ErrClosed;
// verdicts are not valid then. After ErrUnavailable a charge may have been taken all the same: its answer
// did not come in time.
func (p *Pool) Count(charges []Charge, verdicts []Verdict, tickets *Tickets) (allowed bool, err error) {
	watch := p.watch()
	switch {
	case len(charges) == 0 || len(charges) > MaxCharges || len(verdicts) < len(charges):
		err = ErrInvalid
	case len(charges) == 1:
		allowed, err = p.countOne(&charges[0], &verdicts[0], tickets)
	default:
		allowed, err = p.countAll(charges, verdicts, tickets)
	}
	watch.counted(charges, verdicts, err)
	return allowed, err
}

// countOne is the usual case: one message to one shard.
func (p *Pool) countOne(c *Charge, v *Verdict, tickets *Tickets) (bool, error) {
	row, limit, err := p.check(c)
	if err != nil {
		return false, err
	}
	if err := p.admit(); err != nil {
		return false, err
	}
	call := p.newCall(callStore)
	call.op.Kind = store.OpCharge
	call.op.Key = row
	call.op.Rule = &c.Policy.rule
	call.op.Cost, call.op.Limit = c.Cost, limit
	if err := p.ask(p.shard(row), call); err != nil {
		return false, err
	}
	op := &call.op
	*v = Verdict{
		Allowed:    op.Verdict.Allowed,
		Used:       op.Verdict.Used,
		Limit:      op.Verdict.Limit,
		Remaining:  op.Verdict.Remaining,
		ResetAfter: ceil(op.Verdict.ResetAfter),
		ResetAt:    op.Wall.Add(ceil(op.Verdict.ResetAfter)),
		RetryAfter: ceil(op.Verdict.RetryAfter),
	}
	tickets.add(op.Ticket)
	p.free(call)
	return v.Allowed, nil
}

// check gives the row and the limit of a charge.
func (p *Pool) check(c *Charge) (store.RowKey, int64, error) {
	if c.Cost < 1 || c.Cost > MaxCost || c.Limit < 0 || c.Limit > MaxCost {
		return store.RowKey{}, 0, ErrInvalid
	}
	row, err := p.row(c.Policy, KindLimit, c.Key)
	if err != nil {
		return row, 0, err
	}
	if c.Limit > 0 {
		return row, c.Limit, nil
	}
	return row, c.Policy.limit, nil
}

// ceil rounds up to milliseconds and leaves the -1 that means never.
func ceil(d time.Duration) time.Duration {
	if d < 0 {
		return d
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
