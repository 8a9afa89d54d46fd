package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Reservation is the answer to Reserve, or a condition, which is negative. On a condition a handler returns, and
// the host answers 503.
type Reservation int32

// The reservations.
const (
	Reserved  Reservation = Reservation(abi.Reserved)
	Duplicate Reservation = Reservation(abi.Duplicate)
)

// Err is nil for both reservations, else names the condition.
func (r Reservation) Err() error { return condition(int32(r)) }

// Guard is a declared policy that reserves identities.
type Guard struct {
	handle int32
}

// Guard declares a guard; names are as for Limit.
func (c *Config) Guard(name string, spec abi.GuardSpec) Guard {
	return Guard{c.declare(abi.KindGuard, name, guardJSON(spec))}
}

// Reserve reserves a key, 1 to 1,024 bytes, for the guard's time. While it lasts any other request with the key
// is a duplicate, and does not extend it. The host gives it back only where nothing of the request has gone
// upstream.
func (*Request) Reserve(guard Guard, key []byte) Reservation {
	return Reservation(host.Reserve(guard.handle, key))
}
