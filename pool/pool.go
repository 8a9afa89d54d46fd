package pool

import (
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

// LimitSpec is a limit as a filter declares it.
type LimitSpec struct {
	Limit      int64         // 1 to 2^53
	Window     time.Duration // at least a millisecond
	Durability store.Durability
	MaxKeys    int64 // keys present at once; 0 takes the host's default
}

// OnceSpec is a policy for Begin as a filter declares it.
type OnceSpec struct {
	TTL        time.Duration // how long a stored response is replayed
	MaxWait    time.Duration // how long a duplicate waits for the flight
	MaxWaiters int           // duplicates that wait for one flight at once
	MaxKeys    int64         // keys present at once; 0 takes the host's default
}

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

// State is where a claim stands.
type State uint8

// The states of a claim.
const (
	Execute  State = iota // this caller owns the flight
	Joined                // another one runs, with the same digest
	Replay                // a stored response with this digest is in Stored
	Mismatch              // stored or in flight with another digest
)
