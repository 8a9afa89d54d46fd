package pool

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/porchedge/porch/store"
	"github.com/porchedge/porch/store/clock"
)

type plainRow struct {
	end  time.Duration
	used int64

	digest   [32]byte
	stored   bool
	oversize bool
	record   []byte
	flight   *Claim
	waiters  []*Claim
}

// Pool decides.
type Pool struct {
	mu   sync.Mutex
	rows map[[32]byte]*plainRow
}

// Open starts a pool.
func Open(cfg Config) (*Pool, error) { return &Pool{rows: map[[32]byte]*plainRow{}}, nil }

// Close stops it.
func (p *Pool) Close() error { return nil }

// Ready is nil while the pool can take decisions, else the reason why not.
func (p *Pool) Ready() error { return nil }

// StoreTime is store time.
func (p *Pool) StoreTime() time.Duration { return clock.Monotonic() }

func (p *Pool) row(policy *Policy, key []byte) *plainRow {
	id := sha256.Sum256(fmt.Appendf(nil, "%q %q", policy.Name(), key))
	r := p.rows[id]
	if r == nil {
		r = &plainRow{}
		p.rows[id] = r
	}
	return r
}

// Policy is a declared policy: immutable, made by Limit or Once. Rows know nothing of it but its identity
// (filter, name), so a new version of a filter declares its policies anew and finds the rows.
type Policy struct {
	filter, name string
	limit        LimitSpec
	once         OnceSpec
	kind         Kind
}

// Kind is what a policy does.
type Kind uint8

// The kinds of policy.
const (
	KindLimit Kind = iota + 1
	KindOnce
)

// Name is "filter/name".
func (p *Policy) Name() string { return p.filter + "/" + p.name }

// Kind is what the policy does.
func (p *Policy) Kind() Kind { return p.kind }

// Durability is the durability of its rows.
func (p *Policy) Durability() store.Durability { return p.limit.Durability }

// Limit declares a limit. Errors are for the person who wrote the configuration.
func (p *Pool) Limit(filter, name string, spec LimitSpec) (*Policy, error) {
	return &Policy{filter: filter, name: name, limit: spec, kind: KindLimit}, nil
}

// Once declares a policy for Begin.
func (p *Pool) Once(filter, name string, spec OnceSpec) (*Policy, error) {
	return &Policy{filter: filter, name: name, once: spec, kind: KindOnce}, nil
}

// Count charges all or none. verdicts has a place for each charge. What the answer rests on is added to
// tickets, on refusal too.
func (p *Pool) Count(charges []Charge, verdicts []Verdict, tickets *Tickets) (allowed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Monotonic()
	for _, c := range charges {
		if len(c.Key) == 0 || c.Cost < 1 {
			return false, ErrInvalid
		}
	}
	allowed = true
	rows := make([]*plainRow, len(charges))
	for i, c := range charges {
		r := p.row(c.Policy, c.Key)
		rows[i] = r
		if now >= r.end {
			r.used = 0
			r.end = now + c.Policy.limit.Window
		}
		limit := c.Limit
		if limit == 0 {
			limit = c.Policy.limit.Limit
		}
		before := int64(0)
		for j := range i {
			if rows[j] == r {
				before += charges[j].Cost
			}
		}
		ok := r.used+before+c.Cost <= limit
		allowed = allowed && ok
		verdicts[i] = Verdict{Allowed: ok, Used: r.used + before, Limit: limit}
	}
	for i, c := range charges {
		v := &verdicts[i]
		if allowed {
			rows[i].used += c.Cost
			v.Used += c.Cost
		}
		v.Remaining = max(0, v.Limit-v.Used)
		v.ResetAfter = max(0, rows[i].end-now+time.Millisecond-1).Truncate(time.Millisecond)
		v.ResetAt = clock.System().Wall().Add(v.ResetAfter)
		if !v.Allowed {
			v.RetryAfter = v.ResetAfter
			if c.Cost > v.Limit {
				v.RetryAfter = -1
			}
		}
	}
	return allowed, nil
}

// Claim is one request's part in a flight. Its caller ends it exactly once: by Complete, CompleteOversize
// or Release. Release is a no-op after any of them, and after Replay or Mismatch.
type Claim struct {
	pool   *Pool
	policy *Policy
	row    *plainRow
	state  State
	woken  chan State
	done   bool
}

// Begin claims a key. It does not wait for other requests. A Joined claim counts against the flight's
// waiters from here on.
func (p *Pool) Begin(policy *Policy, key []byte, digest [32]byte, tickets *Tickets) (*Claim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(key) == 0 {
		return nil, ErrInvalid
	}
	r := p.row(policy, key)
	c := &Claim{pool: p, policy: policy, row: r, woken: make(chan State, 1)}
	if r.stored && clock.Monotonic() >= r.end {
		r.stored = false
	}
	switch {
	case (r.stored || r.flight != nil) && r.digest != digest:
		c.state = Mismatch
	case r.stored:
		c.state = Replay
	case r.flight != nil:
		if len(r.waiters) >= policy.once.MaxWaiters {
			return nil, ErrSaturated
		}
		c.state = Joined
		r.waiters = append(r.waiters, c)
	default:
		r.flight, r.digest = c, digest
	}
	return c, nil
}

// State returns where the claim stands now; Wait changes it.
func (c *Claim) State() State { return c.state }

// Wait waits as a Joined claim until the flight ends: it becomes Execute (the owner gave up and this one
// is next) or Replay; ErrWaitedTooLong past the policy's MaxWait; ctx's error. After an error the claim has left.
func (c *Claim) Wait(ctx context.Context, tickets *Tickets) (State, error) {
	timer := time.NewTimer(c.policy.once.MaxWait)
	defer timer.Stop()
	select {
	case c.state = <-c.woken:
		return c.state, nil
	case <-timer.C:
		c.Release()
		return Joined, ErrWaitedTooLong
	case <-ctx.Done():
		c.Release()
		return Joined, ctx.Err()
	}
}

// Stored is the record of a Replay; oversize says that the response was too large to be stored.
func (c *Claim) Stored() (record []byte, oversize bool) { return c.row.record, c.row.oversize }

// Complete stores record as the owner's response and answers the waiters once it is durable. The owner's
// own response rests on the ticket that is added.
func (c *Claim) Complete(record []byte, tickets *Tickets) error {
	return c.complete(append([]byte(nil), record...), false)
}

// CompleteOversize stores that the request ran and its response was too large.
func (c *Claim) CompleteOversize(tickets *Tickets) error { return c.complete(nil, true) }

func (c *Claim) complete(record []byte, oversize bool) error {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	r := c.row
	c.done = true
	r.stored, r.record, r.oversize, r.end = true, record, oversize, clock.Monotonic()+c.policy.once.TTL
	r.flight = nil
	for _, w := range r.waiters {
		w.woken <- Replay
	}
	r.waiters = nil
	return nil
}

// Release gives the claim back: the next waiter runs.
func (c *Claim) Release() {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	r := c.row
	if c.done {
		return
	}
	c.done = true
	for i, w := range r.waiters {
		if w == c {
			r.waiters = append(r.waiters[:i], r.waiters[i+1:]...)
			return
		}
	}
	if r.flight != c {
		return
	}
	r.flight = nil
	if len(r.waiters) > 0 {
		r.flight = r.waiters[0]
		r.waiters = r.waiters[1:]
		r.flight.woken <- Execute
	}
}

// Tickets collects what a response rests on. The zero value is ready; Reset keeps its memory.
type Tickets struct{}

// Wait returns when all are durable; an error means that the store is dead and the response must not leave.
func (t *Tickets) Wait() error { return nil }

// Reset lets go of all.
func (t *Tickets) Reset() {}
