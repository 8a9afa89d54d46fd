package main

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

// mostClaims bounds what one token leaves, so that there is room for the properties of others.
const mostClaims = 32

// leave sets the properties of the identity: "subject", and "claim.NAME" for each claim that is one word.
// It is false where they do not fit: a request goes on with all of them or not at all, since a later filter
// would take one that is missing for one that the token does not have.
func leave(r *guest.Request, claims guest.Claims) bool {
	if subject, ok := claims.Get("sub"); ok && len(subject.Value) > 0 {
		if r.SetProperty("subject", subject.Value) != nil {
			return false
		}
	}
	if wanted != nil {
		return leaveWanted(r, claims)
	}
	left := 0
	for c, ok := claims.Next(); ok; c, ok = claims.Next() {
		if !c.Kind.Scalar() || !nameFits(c.Name) {
			continue
		}
		if left++; left > mostClaims || r.SetClaim(c.Name, c.Value) != nil {
			return false
		}
	}
	return true
}

func leaveWanted(r *guest.Request, claims guest.Claims) bool {
	for c, ok := claims.Next(); ok; c, ok = claims.Next() {
		if c.Kind.Scalar() && wants(c) && r.SetClaim(c.Name, c.Value) != nil {
			return false
		}
	}
	return true
}

func wants(c abi.Claim) bool {
	for _, name := range wanted {
		if string(c.Name) == name {
			return true
		}
	}
	return false
}

// nameFits says that a claim's name can be that of a property: visible ASCII without a slash.
func nameFits(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c > '~' || c == '/' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= abi.MaxPropertyName-len(guest.ClaimPrefix)
}
