package main

import (
	"strings"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/filters/identity"
	"github.com/porchedge/porch/guest"
)

const (
	longestTTL  = 366 * 24 * time.Hour
	longestWait = time.Hour
	mostWaiters = 1 << 20
	largestBody = 1 << 30
	mostHeaders = 64
	mostScopes  = 8
)

// digestParts are the words of digest, in the order of their bits.
var digestParts = []string{"method", "authority", "path", "query", "type", "body"}

// configure reads
//
//	header        that carries the key, default Idempotency-Key
//	methods       that run once: POST and PATCH by default; safe methods never do
//	scope         whose keys are one another's, of peer, client, claim:NAME, header:NAME; everybody's if absent
//	required      whether a request of these methods without a key is refused, default false
//	ttl           how long a stored response is replayed, default 24h
//	max_wait      how long a duplicate waits for the first request, default 30s
//	max_waiters   how many duplicates wait for one request, default 1024
//	max_request   the largest body of a keyed request, default 1MiB; a larger one gets 413
//	max_response  the largest body that is stored, default 1MiB
//	headers       that a replay carries beside those of the contract
//	digest        the parts that must be the same for a duplicate; all by default
//	on_unknown    what becomes of a duplicate when nobody knows how the first run ended: rerun (default) or
//	              refuse, with 409
//	max_keys      how many keys may be stored at once; the host's default if absent
//	name          of the policy in the store, default "default"
func configure(c *guest.Config) {
	o := c.Object()
	header = o.Text("header").Check(guest.HeaderName).Or("Idempotency-Key")
	methods = o.Texts("methods").Len(1, 16).Distinct().Check(method).Or("POST", "PATCH")
	required = o.Bool("required", false)
	maxRequest := o.Size("max_request").In(0, largestBody).Or(1 << 20)
	spec := abi.OnceSpec{
		TTLMS:       o.Duration("ttl").In(time.Second, longestTTL).Or(24 * time.Hour).Milliseconds(),
		MaxWaitMS:   o.Duration("max_wait").In(time.Millisecond, longestWait).Or(30 * time.Second).Milliseconds(),
		MaxWaiters:  o.Int("max_waiters").In(1, mostWaiters).Or(1024),
		MaxResponse: o.Size("max_response").In(0, largestBody).Or(1 << 20),
		Headers:     o.Texts("headers").Len(0, mostHeaders).Distinct().Check(replayedHeader).Or(),
		MaxKeys:     o.Int("max_keys").In(1, abi.MaxCost).Or(0),
		OnUnknown:   o.Text("on_unknown").OneOf(abi.OnUnknownRerun, abi.OnUnknownRefuse).Or(""),
	}
	scopes := o.Texts("scope").Len(1, mostScopes).Distinct().Check(func(s string) string {
		_, wrong := scopePart(s)
		return wrong
	}).Or()
	digest := o.Texts("digest").Len(1, len(digestParts)).OneOf(digestParts...).Or(digestParts...)
	name := o.Text("name").Check(guest.PolicyName).Or("default")
	if c.Rejected() {
		return
	}
	parts = 0
	for i, p := range digestParts {
		for _, d := range digest {
			if d == p {
				parts |= 1 << i
			}
		}
	}
	scope = scope[:0]
	for _, s := range scopes {
		p, _ := scopePart(s)
		scope = append(scope, p)
	}
	once = c.Once(name, spec)
	c.HoldBody(header, maxRequest)
}

func scopePart(s string) (p identity.Part, wrong string) {
	return identity.Parse(s, identity.Peer, identity.Client, identity.Claim, identity.Header)
}

// replayedHeader refuses what belongs to one client, one moment or one connection.
func replayedHeader(s string) string {
	if wrong := guest.HeaderName(s); wrong != "" {
		return wrong
	}
	for _, never := range neverReplayed {
		if strings.EqualFold(s, never) {
			return never + " is never replayed"
		}
	}
	return ""
}

var neverReplayed = []string{
	"Set-Cookie", "Date", "Age", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
}

// method refuses safe methods: a key on them is ignored.
func method(s string) string {
	switch s {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return s + " is safe: it may run any number of times, and a key on it is ignored"
	case "CONNECT":
		return "CONNECT is not served"
	}
	return guest.Method(s)
}
