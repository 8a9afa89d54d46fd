package pool

import (
	"fmt"
	"time"

	"github.com/porchedge/porch/store"
)

// Kind is what a policy does.
type Kind uint8

// The kinds of policy.
const (
	KindLimit Kind = iota + 1
	KindOnce
	KindGuard
)

// String is the kind as a metric label.
func (k Kind) String() string {
	switch k {
	case KindLimit:
		return "limit"
	case KindOnce:
		return "once"
	case KindGuard:
		return "guard"
	default:
		return "none"
	}
}

// Policy is a declared policy: immutable, made by Limit, Once or Guard. Rows know nothing of it but its identity
// (filter, name), so a new version of a filter declares its policies anew and finds the rows.
type Policy struct {
	name     string
	kind     Kind
	identity []byte
	rule     store.Rule
	limit    int64         // of KindLimit
	maxWait  time.Duration // of KindOnce
	waiters  int           // of KindOnce
	refuses  bool          // of KindOnce: whoever comes after an unknown outcome
}

// Name is "filter/name", fit for a metric label.
func (p *Policy) Name() string { return p.name }

// Kind is what the policy does.
func (p *Policy) Kind() Kind { return p.kind }

// Durability is that of its rows.
func (p *Policy) Durability() store.Durability { return p.rule.Durability }

// LimitSpec is a limit as a filter declares it.
type LimitSpec struct {
	Limit      int64         // 1 to MaxCost
	Window     time.Duration // 1 ms to MaxSpan
	Durability store.Durability
	MaxKeys    int64 // keys present at once; 0 takes the host's default
}

// OnceSpec is a policy for Begin as a filter declares it.
type OnceSpec struct {
	TTL        time.Duration // how long a stored response is replayed, 1 ms to MaxSpan
	MaxWait    time.Duration // how long a duplicate waits for the flight
	MaxWaiters int           // duplicates that wait for one flight at once
	MaxKeys    int64         // keys present at once; 0 takes the host's default
	// RefuseUnknown has a row written before the request is sent upstream, so that no duplicate runs when
	// nobody knows how that ended.
	RefuseUnknown bool
}

// MaxSpan bounds windows and lifetimes: ten years.
const MaxSpan = 10 * 365 * 24 * time.Hour

// Check says whether the spec can be declared. Errors are for the person who wrote the configuration.
func (spec LimitSpec) Check() error {
	switch {
	case spec.Limit < 1 || spec.Limit > MaxCost:
		return fmt.Errorf("limit is %d; it is 1 to %d", spec.Limit, int64(MaxCost))
	case spec.Window < time.Millisecond || spec.Window > MaxSpan:
		return fmt.Errorf("window is %v; it is 1ms to %v", spec.Window, MaxSpan)
	case spec.Durability > store.None:
		return fmt.Errorf("durability %d is not known", spec.Durability)
	}
	return nil
}

// Check says whether the spec can be declared. Errors are for the person who wrote the configuration.
func (spec OnceSpec) Check() error {
	switch {
	case spec.TTL < time.Millisecond || spec.TTL > MaxSpan:
		return fmt.Errorf("ttl is %v; it is 1ms to %v", spec.TTL, MaxSpan)
	case spec.MaxWait < 0:
		return fmt.Errorf("max_wait is %v; it is not negative", spec.MaxWait)
	case spec.MaxWaiters < 0:
		return fmt.Errorf("max_waiters is %d; it is not negative", spec.MaxWaiters)
	}
	return nil
}

// Limit declares a limit. Errors are those of spec.Check.
func (p *Pool) Limit(filter, name string, spec LimitSpec) (*Policy, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	policy := p.declare(filter, name, KindLimit)
	policy.bound(spec.MaxKeys)
	policy.limit = spec.Limit
	policy.rule.Algorithm = store.AlgorithmFixedWindow
	policy.rule.Window = spec.Window
	policy.rule.Durability = spec.Durability
	return policy, nil
}

// Once declares a policy for Begin. Errors are those of spec.Check.
func (p *Pool) Once(filter, name string, spec OnceSpec) (*Policy, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	policy := p.declare(filter, name, KindOnce)
	policy.bound(spec.MaxKeys)
	policy.maxWait = spec.MaxWait
	policy.waiters = spec.MaxWaiters
	policy.refuses = spec.RefuseUnknown
	policy.rule.TTL = spec.TTL
	return policy, nil
}

func (p *Pool) declare(filter, name string, kind Kind) *Policy {
	identity := store.Identity(filter, name)
	return &Policy{
		name:     filter + "/" + name,
		kind:     kind,
		identity: identity,
		rule:     store.Rule{Policy: p.store.Policy(identity), MaxKeys: p.cfg.MaxKeys},
	}
}

// bound has the policy have as many rows as its spec says, if it says.
func (p *Policy) bound(maxKeys int64) {
	if maxKeys > 0 {
		p.rule.MaxKeys = maxKeys
	}
}

// row is the key of the row that a key of the policy has; ErrInvalid if it can have none.
func (p *Pool) row(policy *Policy, kind Kind, key []byte) (store.RowKey, error) {
	if policy == nil || policy.kind != kind || len(key) == 0 || len(key) > MaxKey {
		return store.RowKey{}, ErrInvalid
	}
	return p.store.Key(policy.identity, key), nil
}
