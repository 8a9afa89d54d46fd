package wasm

import (
	"errors"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/pool"
)

// Decider takes the decisions that must not be lost or raced. *pool.Pool is one.
type Decider interface {
	Limit(filter, name string, spec pool.LimitSpec) (*pool.Policy, error)
	Once(filter, name string, spec pool.OnceSpec) (*pool.Policy, error)
	Count(charges []pool.Charge, verdicts []pool.Verdict, tickets *pool.Tickets) (bool, error)
	Guard(filter, name string, spec pool.GuardSpec) (*pool.Policy, error)
	Reserve(policy *pool.Policy, key []byte, tickets *pool.Tickets) (pool.Reservation, bool, error)
	Begin(policy *pool.Policy, key []byte, digest [32]byte, tickets *pool.Tickets) (*pool.Claim, error)
	// StoreTime is the time that decisions rest on: it only moves forward.
	StoreTime() time.Duration
}

// count charges limits, all or none.
func (in *instance) count(stack []uint64) int64 {
	n := int32(uint32(stack[1]))
	if n < 1 || n > abi.MaxCharges {
		return condition(abi.Invalid)
	}
	records := in.bytes(stack[0], uint64(n)*abi.ChargeSize)
	out := in.bytes(stack[2], uint64(n)*abi.VerdictSize)
	in.charges, in.keys = in.charges[:0], in.keys[:0]
	for ; len(records) > 0; records = records[abi.ChargeSize:] {
		charge, valid := in.charge(abi.GetCharge(records))
		if !valid {
			return condition(abi.Invalid)
		}
		in.charges = append(in.charges, charge)
	}
	verdicts := in.verdicts[:n]
	in.pause()
	allowed, err := in.version.decider.Count(in.charges, verdicts, &in.x.Tickets)
	in.resume()
	if err != nil {
		return in.undecided(err)
	}
	for i := range verdicts {
		record(&verdicts[i]).Put(out[i*abi.VerdictSize:])
	}
	if !allowed {
		return int64(abi.Refused)
	}
	return int64(abi.Allowed)
}

// charge checks a record and copies its key: the pool reads it on another goroutine, and guest memory can
// be gone by then.
func (in *instance) charge(c abi.Charge) (pool.Charge, bool) {
	policy := in.version.policyOf(c.Policy, abi.KindLimit)
	if policy == nil || c.KeyLen < 1 || c.KeyLen > abi.MaxKey || c.Cost < 1 || c.Cost > abi.MaxCost ||
		c.Limit < 0 || c.Limit > abi.MaxCost {
		return pool.Charge{}, false
	}
	start := len(in.keys)
	in.keys = append(in.keys, in.bytes(uint64(c.KeyAddr), uint64(c.KeyLen))...)
	return pool.Charge{Policy: policy.pool, Key: in.keys[start:], Cost: c.Cost, Limit: c.Limit}, true
}

// record is a verdict as the guest reads it.
func record(v *pool.Verdict) abi.Verdict {
	retry := int64(-1)
	if v.RetryAfter >= 0 {
		retry = milliseconds(v.RetryAfter)
	}
	return abi.Verdict{
		Allowed:    v.Allowed,
		Used:       v.Used,
		Limit:      v.Limit,
		Remaining:  v.Remaining,
		ResetAfter: milliseconds(v.ResetAfter),
		ResetAt:    v.ResetAt.UnixMilli(),
		RetryAfter: retry,
	}
}

// milliseconds rounds up, so that nobody is told to come back too early.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// begin claims a key for single execution.
func (in *instance) begin(stack []uint64) int64 {
	key := in.bytes(stack[1], stack[2])
	digest := in.bytes(stack[3], abi.DigestSize)
	policy := in.version.policyOf(uint32(stack[0]), abi.KindOnce)
	if policy == nil || len(key) == 0 || len(key) > abi.MaxKey {
		return condition(abi.Invalid)
	}
	x := in.x
	if x.Begun {
		return condition(abi.WrongPhase)
	}
	in.keys = append(in.keys[:0], key...)
	in.pause()
	claim, err := in.version.decider.Begin(policy.pool, in.keys, [abi.DigestSize]byte(digest), &x.Tickets)
	in.resume()
	if err != nil {
		return in.undecided(err)
	}
	x.Begun, x.Claim, x.ClaimPlace, x.Once = true, claim, in.place, policy.once
	switch claim.State() {
	case pool.Execute:
		return int64(abi.Execute)
	case pool.Joined:
		return int64(abi.Joined)
	case pool.Replay:
		return int64(abi.Replay)
	case pool.Unknown:
		return int64(abi.Unknown)
	default:
		x.Places[in.place].Mismatched = true
		return int64(abi.Mismatch)
	}
}

// reserve claims an identity for the time that its policy says.
func (in *instance) reserve(stack []uint64) int64 {
	key := in.bytes(stack[1], stack[2])
	policy := in.version.policyOf(uint32(stack[0]), abi.KindGuard)
	if policy == nil || len(key) == 0 || len(key) > abi.MaxKey {
		return condition(abi.Invalid)
	}
	x := in.x
	if len(x.Reservations) == abi.MaxReservations {
		return condition(abi.TooLarge)
	}
	in.keys = append(in.keys[:0], key...)
	in.pause()
	reservation, reserved, err := in.version.decider.Reserve(policy.pool, in.keys, &x.Gate)
	in.resume()
	switch {
	case err != nil:
		return in.undecided(err)
	case !reserved:
		return int64(abi.Duplicate)
	}
	x.Reservations = append(x.Reservations, reservation)
	return int64(abi.Reserved)
}

// undecided turns an error of the pool into a condition, and leaves what the host must act on at the
// filter's place.
func (in *instance) undecided(err error) int64 {
	var c abi.Condition
	switch {
	case errors.Is(err, pool.ErrInvalid):
		return condition(abi.Invalid)
	case errors.Is(err, pool.ErrSaturated):
		c = abi.Saturated
	case errors.Is(err, pool.ErrCapacity):
		c = abi.Capacity
	default:
		c = abi.Unavailable
	}
	place := &in.x.Places[in.place]
	if severity(c) > severity(abi.Condition(place.Condition)) {
		place.Condition = int32(c)
	}
	return condition(c)
}

// severity orders conditions by how much of the service they concern.
func severity(c abi.Condition) int {
	switch c {
	case abi.Unavailable:
		return 3
	case abi.Capacity:
		return 2
	case abi.Saturated:
		return 1
	default:
		return 0
	}
}

// digest writes the fingerprint of the request as the client sent it.
func (in *instance) digest(stack []uint64) int64 {
	parts := int32(uint32(stack[0]))
	out := in.bytes(stack[1], abi.DigestSize)
	if parts == 0 || parts&^abi.DigestAll != 0 {
		return condition(abi.Invalid)
	}
	in.pause()
	sum, err := in.x.Request.Digest(parts)
	in.resume()
	if errors.Is(err, exchange.ErrBodyNotHeld) {
		return condition(abi.Unavailable)
	}
	copy(out, sum[:])
	return condition(ok)
}
