package pool

import (
	"fmt"
	"time"

	"github.com/porchedge/porch/store"
)

// GuardSpec is a policy for Reserve as a filter declares it.
type GuardSpec struct {
	TTL     time.Duration // how long a reservation lasts, from its admission; 1 ms to MaxSpan
	MaxKeys int64         // keys present at once; 0 takes the host's default
}

// Check says whether the spec can be declared. Errors are for the person who wrote the configuration.
func (spec GuardSpec) Check() error {
	if spec.TTL < time.Millisecond || spec.TTL > MaxSpan {
		return fmt.Errorf("ttl is %v; it is 1ms to %v", spec.TTL, MaxSpan)
	}
	return nil
}

// Guard declares a policy for Reserve. Errors are those of spec.Check.
func (p *Pool) Guard(filter, name string, spec GuardSpec) (*Policy, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	policy := p.declare(filter, name, KindGuard)
	policy.bound(spec.MaxKeys)
	policy.rule.TTL = spec.TTL
	return policy, nil
}

// Reservation is a key that its owner has reserved. It lasts for the policy's TTL, whoever keeps it, unless
// it is released. The zero value is that of a duplicate.
type Reservation struct {
	shard  *shard
	policy *Policy
	key    store.RowKey
	token  uint64
}

// Reserve reserves a key for the policy's TTL, unless it is reserved: then reserved is false, and the TTL is
// not extended. What the answer rests on is added to tickets; it must be durable before anything is sent
// upstream. Errors are ErrInvalid, ErrSaturated, ErrUnavailable, ErrCapacity and ErrClosed; nothing is
// reserved then.
func (p *Pool) Reserve(policy *Policy, key []byte, tickets *Tickets) (r Reservation, reserved bool, err error) {
	watch := p.watch()
	r, reserved, err = p.reserve(policy, key, tickets)
	watch.reserved(policy, reserved, err)
	return r, reserved, err
}

func (p *Pool) reserve(policy *Policy, key []byte, tickets *Tickets) (Reservation, bool, error) {
	row, err := p.row(policy, KindGuard, key)
	if err != nil {
		return Reservation{}, false, err
	}
	if err := p.admit(); err != nil {
		return Reservation{}, false, err
	}
	s := p.shard(row)
	c := p.newCall(callStore)
	c.op = store.Op{Kind: store.OpReserve, Key: row, Rule: &policy.rule}
	if err := p.ask(s, c); err != nil {
		return Reservation{}, false, err
	}
	defer p.free(c)
	tickets.add(c.op.Ticket)
	if c.op.Outcome != store.Reserved {
		return Reservation{}, false, nil
	}
	return Reservation{shard: s, policy: policy, key: row, token: c.op.Token}, true, nil
}

// Release gives the key back, if this reservation still holds it: for a request of which nothing was sent
// upstream. It returns at once; a later Reserve finds the key free.
func (r Reservation) Release() {
	if r.shard == nil {
		return
	}
	r.shard.forget(callStore, func(c *call) {
		c.op = store.Op{Kind: store.OpUnreserve, Key: r.key, Rule: &r.policy.rule, Token: r.token}
	})
}
