package pool

import "github.com/porchedge/porch/store"

// Start is called by an owner before anything of its request is sent upstream. Where the policy refuses
// unknown outcomes it stores that the request was started, and adds the ticket that must be durable first;
// else it does nothing. Errors are ErrUnavailable, ErrCapacity, ErrClosed and ErrEnded; nothing is stored then.
func (c *Claim) Start(tickets *Tickets) error {
	switch {
	case c.ended || c.state != Execute:
		return ErrEnded
	case !c.policy.refuses || c.started:
		return nil
	}
	call := c.shard.pool.newCall(callStore)
	call.claim = c
	call.op = store.Op{Kind: store.OpStart, Key: c.key, Rule: &c.policy.rule, Digest: c.digest}
	if err := c.end(call, tickets); err != nil {
		return err
	}
	c.started = true
	return nil
}

// Forget gives an owner's claim back like Release, when it is known that there is nothing to replay: nothing
// was sent, or the answer is one that is not stored. What Start has stored is removed, and the ticket of that
// added. Without a Start it is Release. Errors are ErrUnavailable when the store is dead, and ErrClosed.
func (c *Claim) Forget(tickets *Tickets) error {
	if !c.started || c.ended {
		c.Release()
		return nil
	}
	c.ended = true
	call := c.shard.pool.newCall(callForget)
	call.claim = c
	call.op = store.Op{Kind: store.OpForget, Key: c.key, Rule: &c.policy.rule, Digest: c.digest}
	return c.end(call, tickets)
}

// forgotten hands the flight on: its row is gone. If it could not be removed it still refuses.
func (s *shard) forgotten(c *call) {
	c.err = outcomeError(c.op.Outcome)
	if c.err != nil {
		s.abandon(c.claim)
	} else {
		if f := c.claim.flight; f != nil {
			f.placed = c.op.Placed
		} else if c.op.Placed {
			s.vacate(c.claim.policy)
		}
		s.leave(c.claim)
	}
	s.reply(c)
}

// abandon ends the flight of an owner that does not know what became of its request.
func (s *shard) abandon(claim *Claim) {
	f := claim.flight
	if f == nil {
		return
	}
	claim.flight = nil
	delete(s.flights, claim.key)
	s.dismiss(f, grant{state: Unknown})
}
