package pool

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/porchedge/porch/store"
)

var (
	// ErrInvalid is returned when a key, cost or limit is outside its bounds.
	ErrInvalid = errors.New("pool: key, cost or limit out of bounds")
	// ErrSaturated is returned when a bounded queue (mailbox, flights, waiters) is full. Nothing was decided.
	ErrSaturated = errors.New("pool: saturated")
	// ErrUnavailable is returned when the store cannot take decisions, or did not answer in time.
	ErrUnavailable = errors.New("pool: unavailable")
	// ErrCapacity is returned when a policy holds as many keys as it may.
	ErrCapacity = errors.New("pool: capacity reached")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("pool: closed")
	// ErrWaitedTooLong is returned by Wait when the policy's MaxWait has passed.
	ErrWaitedTooLong = errors.New("pool: waited too long for the flight")
)

// Config is what Open needs.
type Config struct {
	Store   store.Store
	Shards  int
	Mailbox int // unanswered messages per shard and, counted apart, open flights per shard
	Logger  *slog.Logger
}

type Pool struct{}

func Open(cfg Config) (*Pool, error) { panic("not built") }

// Close refuses new work, ends what is open and stops the shards. The store stays open.
func (p *Pool) Close() error { panic("not built") }

// Ready is nil while the pool can take decisions, else the reason why not.
func (p *Pool) Ready() error { panic("not built") }

// Policy is a declared policy: immutable, made by Limit or Once. Rows know nothing of it but its identity
// (filter, name), so a new version of a filter declares its policies anew and finds the rows.
type Policy struct{}

type LimitSpec struct {
	Limit      int64
	Window     time.Duration
	Durability store.Durability
	MaxKeys    int64
}

type OnceSpec struct {
	TTL        time.Duration
	MaxWait    time.Duration
	MaxWaiters int
	MaxKeys    int64
}

// Limit declares a limit. Errors are for the person who wrote the configuration.
func (p *Pool) Limit(filter, name string, spec LimitSpec) (*Policy, error) { panic("not built") }

// Once declares a policy for Begin.
func (p *Pool) Once(filter, name string, spec OnceSpec) (*Policy, error) { panic("not built") }

// Charge is one charge of a Count.
type Charge struct {
	Policy *Policy
	Key    []byte // 1 to 1,024 bytes; not kept
	Cost   int64  // 1 to 2^53
	Limit  int64  // for this charge alone; 0 takes the policy's
}

// Verdict is the answer to one charge. Durations are rounded up to milliseconds.
type Verdict struct {
	Allowed    bool
	Used       int64
	Limit      int64
	Remaining  int64
	ResetAfter time.Duration
	ResetAt    time.Time     // wall clock
	RetryAfter time.Duration // 0 if allowed; -1 if waiting does not help
}

// Count charges all or none. verdicts has a place for each charge. What the answer rests on is added to
// tickets, on refusal too.
func (p *Pool) Count(charges []Charge, verdicts []Verdict, tickets *Tickets) (allowed bool, err error) {
	panic("not built")
}

// State is where a claim stands.
type State uint8

// The states of a claim.
const (
	Execute  State = iota // this caller owns the flight
	Joined                // another one runs, with the same digest
	Replay                // a stored response with this digest is in Stored
	Mismatch              // stored or in flight with another digest
)

// Claim is one request's part in a flight. Its caller ends it exactly once: by Complete, CompleteOversize
// or Release. Release is a no-op after any of them, and after Replay or Mismatch.
type Claim struct{}

// Begin claims a key. It does not wait for other requests. A Joined claim counts against the flight's
// waiters from here on.
func (p *Pool) Begin(policy *Policy, key []byte, digest [32]byte, tickets *Tickets) (*Claim, error) {
	panic("not built")
}

// State returns where the claim stands now; Wait changes it.
func (c *Claim) State() State { panic("not built") }

// Wait waits as a Joined claim until the flight ends: it becomes Execute (the owner gave up and this one
// is next) or Replay; ErrWaitedTooLong past the policy's MaxWait; ctx's error. After an error the claim has left.
func (c *Claim) Wait(ctx context.Context, tickets *Tickets) (State, error) { panic("not built") }

// Stored is the record of a Replay; oversize says that the response was too large to be stored.
func (c *Claim) Stored() (record []byte, oversize bool) { panic("not built") }

// Complete stores record as the owner's response and answers the waiters once it is durable. The owner's
// own response rests on the ticket that is added.
func (c *Claim) Complete(record []byte, tickets *Tickets) error { panic("not built") }

// CompleteOversize stores that the request ran and its response was too large.
func (c *Claim) CompleteOversize(tickets *Tickets) error { panic("not built") }

// Release gives the claim back: the next waiter runs.
func (c *Claim) Release() { panic("not built") }

// Tickets collects what a response rests on. The zero value is ready; Reset keeps its memory.
type Tickets struct{}

// Wait returns when all are durable; an error means that the store is dead and the response must not leave.
func (t *Tickets) Wait() error { panic("not built") }
func (t *Tickets) Reset()      {}
