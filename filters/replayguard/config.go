package main

import (
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/filters/identity"
	"github.com/porchedge/porch/guest"
)

const (
	longestTTL  = 366 * 24 * time.Hour
	largestBody = 1 << 30
	mostMethods = 16
	mostParts   = 8
)

// configure reads
//
//	key          what an event is known by, of header:NAME, claim:NAME, peer, client, route, const:TEXT; the hash of
//	             the body if absent
//	ttl          how long an event is refused after it was admitted, default 5m
//	methods      that bring events: POST, PUT, PATCH and DELETE by default
//	max_request  the largest body where it is hashed, default 1MiB
//	max_keys     how many events may be remembered at once; the host's default if absent
//	name         of the policy in the store, default "default"
func configure(c *guest.Config) {
	o := c.Object()
	key := o.Texts("key").Len(1, mostParts).Distinct().Check(func(s string) string {
		_, wrong := part(s)
		return wrong
	}).Or()
	spec := abi.GuardSpec{
		TTLMS:   o.Duration("ttl").In(time.Second, longestTTL).Or(5 * time.Minute).Milliseconds(),
		MaxKeys: o.Int("max_keys").In(1, abi.MaxCost).Or(0),
	}
	methods = o.Texts("methods").Len(1, mostMethods).Distinct().Check(guest.Method).Or("POST", "PUT", "PATCH", "DELETE")
	maxRequest := o.Size("max_request").In(0, largestBody).Or(1 << 20)
	name := o.Text("name").Check(guest.PolicyName).Or("default")
	if c.Rejected() {
		return
	}
	parts = parts[:0]
	for _, s := range key {
		p, _ := part(s)
		parts = append(parts, p)
	}
	guard = c.Guard(name, spec)
	if len(parts) == 0 {
		c.HoldBody("", maxRequest)
	}
}

func part(s string) (p identity.Part, wrong string) {
	return identity.Parse(s, identity.Header, identity.Claim, identity.Peer, identity.Client, identity.Route, identity.Const)
}
