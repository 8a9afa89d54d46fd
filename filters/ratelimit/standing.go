package main

import (
	"bytes"
	"math/bits"
	"strconv"

	"github.com/porchedge/porch/guest"
)

// Several filters of a route may limit one request, and the X-RateLimit fields have room for one of them: the
// tightest, with the smallest share left. So each leaves its standing as a property. In the request phase
// each records the fields as if it were the only one. On the way back, where all standings are known, one
// that is not the tightest puts the tightest one's numbers in place of its own.

// standing is where a request stands with one limit.
type standing struct {
	limit, remaining int64
	resetAt          int64 // wall clock, Unix seconds
}

const standingProperty = "x-ratelimit"

var standingSuffix = []byte("/" + standingProperty)

// tighter says whether a smaller share is left of s than of t.
func (s *standing) tighter(t *standing) bool {
	aHigh, aLow := bits.Mul64(uint64(s.remaining), uint64(t.limit))
	bHigh, bLow := bits.Mul64(uint64(t.remaining), uint64(s.limit))
	return aHigh < bHigh || aHigh == bHigh && aLow < bLow
}

// tell sets the X-RateLimit fields of the response.
func (s *standing) tell(x *guest.Exchange) {
	x.SetResponseHeader("X-RateLimit-Limit", strconv.AppendInt(buf[:0], s.limit, 10))
	x.SetResponseHeader("X-RateLimit-Remaining", strconv.AppendInt(buf[:0], s.remaining, 10))
	x.SetResponseHeader("X-RateLimit-Reset", strconv.AppendInt(buf[:0], s.resetAt, 10))
}

// append writes a standing as the text of a property: limit, remaining and reset, with spaces between.
func (s *standing) append(b []byte) []byte {
	b = strconv.AppendInt(b, s.limit, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, s.remaining, 10)
	b = append(b, ' ')
	return strconv.AppendInt(b, s.resetAt, 10)
}

// parseStanding reads what append wrote. Another module may use the same name for a property: what cannot
// be a standing is none.
func parseStanding(text []byte) (s standing, ok bool) {
	for i, n := range []*int64{&s.limit, &s.remaining, &s.resetAt} {
		word := text
		if i < 2 {
			if word, text, ok = bytes.Cut(text, []byte{' '}); !ok {
				return s, false
			}
		}
		var err error
		if *n, err = strconv.ParseInt(string(word), 10, 64); err != nil || *n < 0 {
			return s, false
		}
	}
	return s, s.limit > 0
}

// onResponse sets the fields of the tightest standing. Properties stand in the order of the chain, and on a
// tie the later filter counts.
func onResponse(r *guest.Response) {
	names := r.PropertyNames()
	standings := 0
	for name := range names.All() {
		if bytes.HasSuffix(name, standingSuffix) {
			standings++
		}
	}
	if standings < 2 {
		return // what the only one recorded is right
	}
	var tightest standing
	for name := range names.All() {
		if !bytes.HasSuffix(name, standingSuffix) {
			continue
		}
		text, _ := r.Property(string(name))
		if s, ok := parseStanding(text); ok && (tightest.limit == 0 || !tightest.tighter(&s)) {
			tightest = s
		}
	}
	if tightest.limit > 0 {
		tightest.tell(&r.Exchange)
	}
}
