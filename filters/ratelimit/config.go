package main

import (
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

const (
	longestWindow = 366 * 24 * time.Hour
	mostParts     = 8
)

// configure reads
//
//	limit       requests allowed in a window
//	window      its length, like 1m
//	key         what to count by: peer (default), client, route, header:NAME, const:TEXT, or several of them
//	ipv6_prefix how many bits of an IPv6 address make one client, default 64
//	missing     what a request without a header of the key gets: refuse (default, 400), or one shared count
//	durability  sync (default), async or none
//	max_keys    how many keys may be counted at once; the host's default if absent
//	name        of the policy in the store, default "default"
func configure(c *guest.Config) {
	o := c.Object()
	spec := abi.LimitSpec{
		Algorithm:  abi.AlgorithmFixedWindow,
		Limit:      o.Int("limit").In(1, abi.MaxCost).Required(),
		WindowMS:   o.Duration("window").In(time.Millisecond, longestWindow).Required().Milliseconds(),
		Durability: o.Text("durability").OneOf(abi.DurabilitySync, abi.DurabilityAsync, abi.DurabilityNone).Or(abi.DurabilitySync),
		MaxKeys:    o.Int("max_keys").In(1, abi.MaxCost).Or(0),
	}
	prefix := o.Int("ipv6_prefix").In(1, 128).Or(64)
	name := o.Text("name").Check(guest.PolicyName).Or("default")
	shares = o.Text("missing").OneOf("refuse", "shared").Or("refuse") == "shared"
	key := o.Texts("key").Len(1, mostParts).Distinct().Check(func(s string) string {
		_, wrong := parsePart(s, int(prefix))
		return wrong
	}).Or("peer")
	if c.Rejected() {
		return
	}
	parts = parts[:0]
	for _, k := range key {
		p, _ := parsePart(k, int(prefix))
		parts = append(parts, p)
	}
	texts = word(c.Filter(), spec)
	limit = c.Limit(name, spec)
}
