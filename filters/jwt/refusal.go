package main

import "github.com/porchedge/porch/guest"

// refusal is a way to say no, with a challenge (RFC 6750 section 3).
type refusal struct {
	guest.Problem
	code      string // error of the challenge; empty where there was no token
	challenge []byte
}

// Statuses; net/http would make the module twice as large.
const (
	badRequest   = 400
	unauthorized = 401
)

// The refusals. None says more of a token than its owner knows.
var (
	missing   = newRefusal(unauthorized, "Unauthorized", "", "a bearer token is needed")
	untrusted = newRefusal(unauthorized, "Unauthorized", "invalid_token", "the token is not accepted")
	expired   = newRefusal(unauthorized, "Unauthorized", "invalid_token", "the token has expired")
	early     = newRefusal(unauthorized, "Unauthorized", "invalid_token", "the token is not valid yet")
	otherBody = newRefusal(unauthorized, "Unauthorized", "invalid_token", "the token was not made for this body")
	tooMuch   = newRefusal(unauthorized, "Unauthorized", "invalid_token", "the token has too many or too large claims")
	repeated  = newRefusal(badRequest, "Bad Request", "invalid_request", "Authorization stands there more than once")
)

func newRefusal(status int, title, code, detail string) *refusal {
	return &refusal{Problem: guest.Problem{Status: status, Title: title, Detail: detail}, code: code}
}

// challenge writes what each refusal asks for. A realm has nothing in it that would end the quotes.
func challenge(realm string) {
	for _, f := range []*refusal{missing, untrusted, expired, early, otherBody, tooMuch, repeated} {
		text := `Bearer realm="` + realm + `"`
		if f.code != "" {
			text += `, error="` + f.code + `", error_description="` + f.Detail + `"`
		}
		f.challenge = []byte(text)
	}
}

func (f *refusal) refuse(r *guest.Request) {
	r.SetResponseHeader("WWW-Authenticate", f.challenge)
	r.Refuse(&f.Problem)
}
