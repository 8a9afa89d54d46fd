package main

import (
	"strconv"

	"github.com/porchedge/porch/guest"
)

// What a request works in; an instance handles one at a time.
var (
	key guest.Key
	buf [20]byte
)

// onRequest charges the request. On a condition it just returns: the host answers 503.
func onRequest(r *guest.Request) {
	if p := identify(r, &key); p != nil {
		r.Refuse(p)
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

// refuseSpent answers 429. Retry-After never tells a wait too short, and is absent where waiting does not help.
func refuseSpent(r *guest.Request, v *guest.Verdict) {
	if v.RetryAfter < 0 {
		r.Refuse(texts.never)
		return
	}
	r.SetResponseHeader("Retry-After", strconv.AppendInt(buf[:0], max(seconds(v.RetryAfter), 1), 10))
	r.Refuse(texts.spent)
}
