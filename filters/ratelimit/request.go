package main

import (
	"strconv"

	"github.com/porchedge/porch/guest"
)

// What a request works in; an instance handles one at a time.
var (
	key guest.Key
	buf [64]byte
)

// onRequest charges the request. On a condition it just returns: the host answers 503.
func onRequest(r *guest.Request) {
	if p := identify(r, &key); p != none {
		refuseUnidentified(r, p)
		return
	}
	id, _ := key.Bytes()
	v, d := r.Charge(limit, id, 1)
	switch {
	case d == guest.Allowed:
		tell(r, v)
	case d == guest.Refused:
		tell(r, v)
		refuseSpent(r, v)
	case d.Err() == guest.ErrInvalid || d.Err() == guest.ErrWrongPhase:
		r.Fail("the limit could not be charged")
	}
}

// tell records the header of the response: where the client stands with this policy, and, if no filter
// is tighter, in all.
func tell(r *guest.Request, v *guest.Verdict) {
	s := texts.stand(v)
	r.AddResponseHeader("RateLimit-Policy", texts.policy)
	r.AddResponseHeader("RateLimit", texts.rest(s.remaining, seconds(v.ResetAfter)))
	s.tell(&r.Exchange)
	r.SetProperty(standingProperty, s.text)
}

// seconds rounds milliseconds up.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// refuseSpent answers 429.
func refuseSpent(r *guest.Request, v *guest.Verdict) {
	p := guest.Problem{
		Status:  429,
		Type:    "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title:   "Request cannot be satisfied as assigned quota has been exceeded",
		Detail:  "the limit of requests is spent; try again later",
		Members: texts.violated,
	}
	if v.RetryAfter >= 0 {
		r.SetResponseHeader("Retry-After", strconv.AppendInt(buf[:0], max(seconds(v.RetryAfter), 1), 10))
	} else {
		p.Detail = "the cost of this request is above the limit itself"
	}
	r.Refuse(&p)
}

// refuseUnidentified answers 400.
func refuseUnidentified(r *guest.Request, p problem) {
	detail := [...]string{
		missing:    "a header that requests are counted by is missing or empty",
		repeated:   "a header that requests are counted by stands there more than once",
		oversize:   "a header that requests are counted by is too long",
		notAddress: "the address of the client cannot be read",
	}[p]
	r.Refuse(&guest.Problem{Status: 400, Title: "Bad Request", Detail: detail})
}
