package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Verifier is a declared way to verify tokens.
type Verifier struct {
	handle int32
}

// Verifier declares how tokens are verified. The host reads the key by itself, and again when its file
// changes; a filter never sees it. o is the mapping of the configuration that the spec was made from: where
// its keys are called as the members of the spec are (algorithms, key.env, issuer, ...), the host tells what
// is wrong with them at their places.
func (c *Config) Verifier(o *Object, spec abi.VerifierSpec) Verifier {
	handle := host.Verifier(o.pointer, string(verifierJSON(spec)))
	if handle < 0 {
		c.refused = true
	}
	return Verifier{handle}
}

// Verify checks a JSON Web Token in compact form: its signature, issuer, audience and times. The error is
// nil, ErrUntrusted, ErrExpired, ErrEarly, or ErrTooLarge for a token above abi.MaxToken.
func (*Request) Verify(v Verifier, token []byte) (Claims, error) {
	n := host.Verify(v.handle, token, memory.free())
	if int(n) > len(memory.free()) {
		n = host.Verify(v.handle, token, memory.grow(int(n)))
	}
	if n < 0 {
		return Claims{}, condition(n)
	}
	return Claims{memory.take(int(n))}, nil
}

// Claims are the claims of a verified token in its order, valid until the handler returns.
type Claims struct {
	rest []byte
}

// Next takes the first claim off; ok is false at the end.
func (c *Claims) Next() (claim abi.Claim, ok bool) {
	claim, c.rest, ok = abi.NextClaim(c.rest)
	return claim, ok
}

// Get returns the claim of that name and leaves the others as they are. No name stands twice.
func (c Claims) Get(name string) (claim abi.Claim, ok bool) {
	for claim, ok = c.Next(); ok; claim, ok = c.Next() {
		if string(claim.Name) == name {
			return claim, true
		}
	}
	return abi.Claim{}, false
}

// BodyHash returns the SHA-256 of the body as the client sent it; ok is false where the body is not held:
// see Config.HoldBody. A request without a body has one of length 0.
func (*Request) BodyHash() (hash []byte, ok bool) { return read(abi.FieldBodyHash, "") }
