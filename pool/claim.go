package pool

import (
	"bytes"
	"context"
	"time"

	"github.com/porchedge/porch/store"
)

// State is where a claim stands.
type State uint8

// The states of a claim.
const (
	Execute  State = iota // this caller owns the flight
	Joined                // another one runs, with the same digest
	Replay                // a stored response with this digest is in Stored
	Mismatch              // stored or in flight with another digest
	Unknown               // a request with this digest was started, and nobody knows how it ended
)

// Claim is one request's part in a flight. Its caller ends it exactly once: by Complete, CompleteOversize,
// Forget or Release. Release is a no-op after any of them, and after Replay, Mismatch or Unknown. It is used
// by one goroutine at a time.
type Claim struct {
	shard  *shard
	policy *Policy
	key    store.RowKey
	digest [store.DigestSize]byte

	// The caller's.
	state    State
	record   []byte
	oversize bool
	ended    bool
	started  bool // there is a row that says so

	// The shard's.
	flight         *flight // nil once the claim has left it
	before, behind *Claim  // in the line of waiters

	// granted hands on what a waiter waits for. One place: it gets one grant, and may have gone.
	granted chan grant
}

// Begin claims a key. It does not wait for other requests. A Joined claim counts against the flight's
// waiters from here on. The digest is that of the request. What the answer rests on is added to tickets.
// Errors are ErrInvalid, ErrSaturated, ErrUnavailable, ErrCapacity and ErrClosed; nothing is claimed then.
func (p *Pool) Begin(policy *Policy, key []byte, digest [32]byte, tickets *Tickets) (*Claim, error) {
	watch := p.watch()
	claim, err := p.begin(policy, key, digest, tickets)
	watch.began(policy, claim, err)
	return claim, err
}

func (p *Pool) begin(policy *Policy, key []byte, digest [32]byte, tickets *Tickets) (*Claim, error) {
	row, err := p.row(policy, KindOnce, key)
	if err != nil {
		return nil, err
	}
	if err := p.admit(); err != nil {
		return nil, err
	}
	s := p.shard(row)
	claim := &Claim{shard: s, policy: policy, key: row, digest: digest}
	c := p.newCall(callBegin)
	c.claim = claim
	c.op = store.Op{Kind: store.OpLookup, Key: row, Rule: &policy.rule, Digest: digest}
	if err := p.ask(s, c); err != nil {
		return nil, err
	}
	if claim.state != Execute && claim.state != Joined {
		tickets.add(c.op.Ticket)
	}
	p.free(c)
	return claim, nil
}

// State returns where the claim stands now; Wait changes it.
func (c *Claim) State() State { return c.state }

// Wait waits as a Joined claim until the flight ends: it becomes Execute (the owner gave up and this one
// is next), Replay, whose ticket is added, or Unknown. Errors are ErrWaitedTooLong past the policy's MaxWait, ctx's
// error, ErrUnavailable when the response could not be stored, and ErrClosed. After an error the claim has
// left.
func (c *Claim) Wait(ctx context.Context, tickets *Tickets) (State, error) {
	if c.state != Joined || c.ended {
		return c.state, nil
	}
	watch := c.shard.pool.watch()
	err := c.wait(ctx, tickets)
	watch.waited(c.policy, c.state, err)
	return c.state, err
}

func (c *Claim) wait(ctx context.Context, tickets *Tickets) error {
	limit := time.NewTimer(c.policy.maxWait)
	defer limit.Stop()
	select {
	case g := <-c.granted:
		if g.err != nil {
			c.ended = true
			return g.err
		}
		c.state, c.record, c.oversize = g.state, g.record, g.oversize
		tickets.add(g.ticket)
		return nil
	case <-limit.C:
		c.Release()
		return ErrWaitedTooLong
	case <-ctx.Done():
		c.Release()
		return ctx.Err()
	}
}

// Stored is the record of a Replay; oversize says that the response was too large to be stored. The record
// is shared and must not be changed.
func (c *Claim) Stored() (record []byte, oversize bool) { return c.record, c.oversize }

// Complete stores a copy of record as the owner's response and gives it to the waiters. It does not wait
// for the disk: the owner's own response rests on the ticket that is added. Errors are ErrUnavailable when
// the store is dead, ErrClosed, and ErrEnded when the claim does not own a flight.
func (c *Claim) Complete(record []byte, tickets *Tickets) error {
	return c.complete(bytes.Clone(record), false, tickets)
}

// CompleteOversize stores that the request ran and its response was too large.
func (c *Claim) CompleteOversize(tickets *Tickets) error { return c.complete(nil, true, tickets) }

func (c *Claim) complete(record []byte, oversize bool, tickets *Tickets) error {
	if c.ended || c.state != Execute {
		return ErrEnded
	}
	c.ended = true
	p := c.shard.pool
	watch := p.watch()
	call := p.newCall(callComplete)
	call.claim = c
	call.op = store.Op{
		Kind: store.OpPut, Key: c.key, Rule: &c.policy.rule, Digest: c.digest, Record: record, Oversize: oversize,
	}
	err := c.end(call, tickets)
	watch.completed(c.policy, err)
	return err
}

// end pushes the call that ends the claim and waits for its answer, however long the shard takes: the
// upstream has acted, and its response must not be given up.
func (c *Claim) end(call *call, tickets *Tickets) error {
	p := c.shard.pool
	if !c.shard.inbox.pushSecond(call) {
		p.free(call)
		return ErrClosed
	}
	<-call.done
	err := call.err
	tickets.add(call.op.Ticket)
	p.free(call)
	return err
}

// Release gives the claim back: the next waiter runs. It returns at once. After Start it says that nobody
// knows how the request has ended: the row stays, and waiters become Unknown.
func (c *Claim) Release() {
	if c.ended || c.state != Execute && c.state != Joined {
		return
	}
	c.ended = true
	kind := callRelease
	if c.started {
		kind = callAbandon
	}
	c.shard.forget(kind, func(r *call) { r.claim = c })
}
