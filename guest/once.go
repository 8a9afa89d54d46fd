package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Claim is the answer to Begin: where the request stands, or a condition, which is negative. In each case a
// handler returns and the host does the rest: it runs the request, waits, replays, or answers 409, 422 or 503.
type Claim int32

// The claims.
const (
	Execute  Claim = Claim(abi.Execute)
	Joined   Claim = Claim(abi.Joined)
	Replay   Claim = Claim(abi.Replay)
	Mismatch Claim = Claim(abi.Mismatch)
	Unknown  Claim = Claim(abi.Unknown)
)

// Err is nil for the five claims, else names the condition.
func (c Claim) Err() error { return condition(int32(c)) }

// Once is a declared policy of single execution.
type Once struct {
	handle int32
}

// Digest is the fingerprint of a request.
type Digest [abi.DigestSize]byte

// Digest returns the fingerprint of the parts (abi.DigestMethod and so on) of the request as the client sent
// it. With abi.DigestBody the body must be held: see Config.HoldBody.
func (*Request) Digest(parts int32) (*Digest, error) {
	err := condition(host.Digest(parts, (*[abi.DigestSize]byte)(&fingerprint)))
	return &fingerprint, err
}

var fingerprint Digest

// Begin claims a key, 1 to 1,024 bytes, so that among requests with this key and digest one runs. A request
// has one claim, whichever filter takes it.
func (*Request) Begin(once Once, key []byte, digest *Digest) Claim {
	return Claim(host.Begin(once.handle, key, (*[abi.DigestSize]byte)(digest)))
}
