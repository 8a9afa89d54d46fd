package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Decision is the answer to Charge and Count: Allowed, Refused, or a condition, which is negative. After
// Saturated, Unavailable or Capacity a handler may simply return: the host then answers 503.
type Decision int32

// The decisions.
const (
	Allowed Decision = Decision(abi.Allowed)
	Refused Decision = Decision(abi.Refused)
)

// Err is nil for Allowed and Refused, else names the condition.
func (d Decision) Err() error { return condition(int32(d)) }

// Limit is a declared limit.
type Limit struct {
	handle int32
}

// Charge is one charge of a cost against a limit.
type Charge struct {
	Limit Limit
	// Key is the bytes to count by, 1 to 1,024. Build it from several parts with Key.
	Key []byte
	// Cost is 1 to 2^53.
	Cost int64
	// Max takes the place of the limit's number for this charge; 0 keeps that.
	Max int64
}

// Verdict is what became of one charge; abi.Verdict describes its fields.
type Verdict = abi.Verdict

// Charge charges one cost. Nothing is consumed unless it is Allowed. The verdict is that of an allowed or refused
// charge, valid until the next one.
func (r *Request) Charge(limit Limit, key []byte, cost int64) (*Verdict, Decision) {
	host.PutCharge(0, limit.handle, key, cost, 0)
	d := host.Count(1, records[:abi.VerdictSize])
	if d >= 0 {
		verdict.Get(records[:])
	}
	return &verdict, Decision(d)
}

// Count charges several costs at once, all or none, at most abi.MaxCharges. It fills the first verdicts, one
// for each charge, unless the decision is a condition.
func (*Request) Count(charges []Charge, verdicts []Verdict) Decision {
	n := len(charges)
	if n == 0 || n > abi.MaxCharges || len(verdicts) < n {
		return Decision(abi.Invalid)
	}
	for i := range charges {
		c := &charges[i]
		host.PutCharge(i, c.Limit.handle, c.Key, c.Cost, c.Max)
	}
	d := host.Count(n, records[:n*abi.VerdictSize])
	if d >= 0 {
		for i := range charges {
			verdicts[i].Get(records[i*abi.VerdictSize:])
		}
	}
	return Decision(d)
}

// What Charge and Count work in.
var (
	verdict Verdict
	records [abi.MaxCharges * abi.VerdictSize]byte
)
