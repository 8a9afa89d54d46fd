package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

// coversBody says that the token was made for this body: the claim is the SHA-256 of it, in hexadecimal or
// in base64url with padding or without.
func coversBody(r *guest.Request, claims guest.Claims) bool {
	c, ok := claims.Get(bodyHash)
	if !ok || c.Kind != abi.ClaimText {
		return false
	}
	hash, ok := r.BodyHash()
	if !ok {
		return false
	}
	switch len(c.Value) {
	case 2 * abi.DigestSize:
		written := digits[:2*abi.DigestSize]
		hex.Encode(written, hash)
		return bytes.EqualFold(written, c.Value)
	case base64.URLEncoding.EncodedLen(abi.DigestSize):
		base64.URLEncoding.Encode(digits[:], hash)
		return bytes.Equal(digits[:len(c.Value)], c.Value)
	case base64.RawURLEncoding.EncodedLen(abi.DigestSize):
		base64.RawURLEncoding.Encode(digits[:], hash)
		return bytes.Equal(digits[:len(c.Value)], c.Value)
	default:
		return false
	}
}

// digits holds the hash as text, in its longest form.
var digits [2 * abi.DigestSize]byte
