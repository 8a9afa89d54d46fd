package main

import "github.com/porchedge/porch/guest"

const header = "Authorization"

// onRequest lets a request with a good token pass.
func onRequest(r *guest.Request) {
	lines := r.HeaderValues(header)
	value, present := lines.Next()
	if _, more := lines.Next(); more {
		repeated.refuse(r)
		return
	}
	text, bearer := bearerToken(value)
	if !present || !bearer {
		if !optional {
			missing.refuse(r)
		}
		return
	}
	claims, err := r.Verify(verifier, text)
	switch err {
	case nil:
	case guest.ErrExpired:
		expired.refuse(r)
		return
	case guest.ErrEarly:
		early.refuse(r)
		return
	case guest.ErrUntrusted, guest.ErrTooLarge:
		untrusted.refuse(r)
		return
	default:
		r.Fail("the token could not be verified: " + err.Error())
		return
	}
	if bodyHash != "" && !coversBody(r, claims) {
		otherBody.refuse(r)
		return
	}
	if !leave(r, claims) {
		tooMuch.refuse(r)
		return
	}
	if remove {
		r.RemoveHeader(header)
	}
}

// bearerToken is what stands behind the scheme. Whatever begins with its letters counts as one: an upstream
// may be less exact, and must not get a token that was not looked at.
func bearerToken(value []byte) (text []byte, bearer bool) {
	const scheme = "bearer"
	if len(value) < len(scheme) {
		return nil, false
	}
	for i := range len(scheme) {
		if value[i]|0x20 != scheme[i] {
			return nil, false
		}
	}
	rest := value[len(scheme):]
	if len(rest) == 0 || rest[0] != ' ' {
		return nil, true
	}
	for len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return rest, true
}
