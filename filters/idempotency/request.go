package main

import (
	"slices"

	"github.com/porchedge/porch/filters/identity"
	"github.com/porchedge/porch/guest"
)

// onRequest claims the key. Whatever the claim is, the host does the rest.
func onRequest(r *guest.Request) {
	if !keyed(r.Method()) {
		return
	}
	lines := r.HeaderValues(header)
	value, ok := lines.Next()
	if !ok {
		if required {
			r.Refuse(noKey)
		}
		return
	}
	if _, more := lines.Next(); more {
		r.Refuse(repeated)
		return
	}
	key, wrong := parseKey(value)
	if wrong != nil {
		r.Refuse(wrong)
		return
	}
	if key, wrong = scoped(r, key); wrong != nil {
		r.Refuse(wrong)
		return
	}
	digest, err := r.Digest(parts)
	if err != nil {
		r.Fail("the request has no fingerprint: " + err.Error())
		return
	}
	switch err := r.Begin(once, key, digest).Err(); err {
	case guest.ErrInvalid, guest.ErrWrongPhase:
		r.Fail("the key could not be claimed: " + err.Error())
	}
}

// scoped puts the parts of the scope before a key, so that nobody meets a key of another scope. A key without
// a scope is itself; it can be none with one, whose first two bytes are a length and not both printable.
func scoped(r *guest.Request, key []byte) ([]byte, *guest.Problem) {
	if len(scope) == 0 {
		return key, nil
	}
	whole.Reset()
	if wrong := identity.Add(scope, r, &whole); wrong != nil {
		return nil, wrong
	}
	whole.Add(key)
	return identity.Bytes(&whole)
}

// whole is the key of a request with its scope; an instance handles one at a time.
var whole guest.Key

func keyed(method []byte) bool {
	return slices.Contains(methods, string(method))
}
