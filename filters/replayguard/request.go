package main

import (
	"slices"

	"github.com/porchedge/porch/filters/identity"
	"github.com/porchedge/porch/guest"
)

// Why a request does not pass.
var (
	again = &guest.Problem{
		Status: 409, Title: "Conflict",
		Detail: "this event was received before",
	}
	bodiless = &guest.Problem{
		Status: 400, Title: "Bad Request",
		Detail: "this request has no body, and is known by nothing else",
	}
)

// onRequest reserves the event. On a condition it just returns: the host answers 503.
func onRequest(r *guest.Request) {
	if !slices.Contains(methods, string(r.Method())) {
		return
	}
	key, wrong := identify(r)
	if wrong != nil {
		r.Refuse(wrong)
		return
	}
	reservation := r.Reserve(guard, key)
	switch err := reservation.Err(); {
	case err == guest.ErrInvalid || err == guest.ErrWrongPhase:
		r.Fail("the event could not be reserved: " + err.Error())
	case reservation == guest.Duplicate:
		r.Refuse(again)
	}
}

// identify is what the event is known by. A problem says why it is known by nothing.
func identify(r *guest.Request) ([]byte, *guest.Problem) {
	if len(parts) == 0 {
		hash, ok := r.BodyHash()
		if !ok || string(hash) == hashOfNothing {
			return nil, bodiless
		}
		return hash, nil
	}
	whole.Reset()
	if wrong := identity.Add(parts, r, &whole); wrong != nil {
		return nil, wrong
	}
	return identity.Bytes(&whole)
}

// whole is the key of a request; an instance handles one at a time.
var whole guest.Key

// hashOfNothing is the SHA-256 of no bytes.
const hashOfNothing = "\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24" +
	"\x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55"
