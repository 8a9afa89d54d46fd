package main

import (
	"slices"

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

func keyed(method []byte) bool {
	return slices.Contains(methods, string(method))
}
