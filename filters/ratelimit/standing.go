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

// standing is where a request stands with one limit, as texts of numbers. The whole of it is the value of a
// property: limit, remaining and reset, with spaces between.
type standing struct {
	text             []byte
	limit, remaining []byte
	resetAt          []byte // wall clock, Unix seconds
}

const standingProperty = "x-ratelimit"

var standingSuffix = []byte("/" + standingProperty)

// tell sets the X-RateLimit fields of the response.
func (s *standing) tell(x *guest.Exchange) {
	x.SetResponseHeader("X-RateLimit-Limit", s.limit)
	x.SetResponseHeader("X-RateLimit-Remaining", s.remaining)
	x.SetResponseHeader("X-RateLimit-Reset", s.resetAt)
}

// share is what is left of a limit.
type share struct {
	remaining, limit uint64
}

// parseStanding reads a property. Other modules may use its name too: what cannot be a standing is none.
func parseStanding(text []byte) (s standing, left share, ok bool) {
	first, second := bytes.IndexByte(text, ' '), bytes.LastIndexByte(text, ' ')
	if first < 0 || first == second {
		return s, left, false
	}
	s = standing{text: text, limit: text[:first], remaining: text[first+1 : second], resetAt: text[second+1:]}
	var okLimit, okRemaining, okReset bool
	left.limit, okLimit = natural(s.limit)
	left.remaining, okRemaining = natural(s.remaining)
	_, okReset = natural(s.resetAt)
	return s, left, okLimit && okRemaining && okReset && left.limit > 0
}

func natural(digits []byte) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(digits), 10, 63)
	return n, err == nil
}

// below says whether a is a smaller share than b; the products have 128 bits, so this is exact.
func (a share) below(b share) bool {
	aHigh, aLow := bits.Mul64(a.remaining, b.limit)
	bHigh, bLow := bits.Mul64(b.remaining, a.limit)
	return aHigh < bHigh || aHigh == bHigh && aLow < bLow
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
	var least share
	for name := range names.All() {
		if !bytes.HasSuffix(name, standingSuffix) {
			continue
		}
		text, _ := r.Property(string(name))
		if s, left, ok := parseStanding(text); ok && (least.limit == 0 || !least.below(left)) {
			tightest, least = s, left
		}
	}
	if least.limit > 0 {
		tightest.tell(&r.Exchange)
	}
}
