package main

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/porchedge/porch/guest"
)

// part is one part of the key: where it comes from.
type part struct {
	source source
	text   string // the header's name, or the constant
	prefix int    // of an address
}

type source uint8

const (
	fromPeer source = iota
	fromClient
	fromRoute
	fromHeader
	fromConst
)

// parsePart reads one entry of key; wrong says why it is none.
func parsePart(s string, prefix int) (p part, wrong string) {
	kind, text, named := strings.Cut(s, ":")
	switch {
	case s == "peer":
		return part{source: fromPeer, prefix: prefix}, ""
	case s == "client":
		return part{source: fromClient, prefix: prefix}, ""
	case s == "route":
		return part{source: fromRoute}, ""
	case kind == "header" && named:
		if guest.HeaderName(text) != "" {
			return part{}, "header: wants the name of a header, like header:X-Api-Key, not " + strconv.Quote(text)
		}
		return part{source: fromHeader, text: text}, ""
	case kind == "const" && named:
		if text == "" || len(text) > longestConst {
			return part{}, "const: wants a text of 1 to 64 bytes, like const:all, not " + strconv.Quote(text)
		}
		return part{source: fromConst, text: text}, ""
	default:
		return part{}, "must be peer, client, route, header:NAME or const:TEXT, not " + strconv.Quote(s)
	}
}

const longestConst = 64

// Why a request cannot be counted.
var (
	missing    = unidentified("a header that requests are counted by is missing or empty")
	repeated   = unidentified("a header that requests are counted by stands there more than once")
	oversize   = unidentified("a header that requests are counted by is too long")
	notAddress = unidentified("the address of the client cannot be read")
)

func unidentified(detail string) *guest.Problem {
	return &guest.Problem{Status: 400, Title: "Bad Request", Detail: detail}
}

// identify builds the key of a request. Each part stands behind its length, so parts cannot run together.
// Requests without a header, where they share a count, have an empty part in its place, which no header that
// is counted by can be. The key itself is never empty, so nobody is unlimited. A problem says why there is none.
func identify(r *guest.Request, key *guest.Key) *guest.Problem {
	key.Reset()
	for i := range parts {
		p := &parts[i]
		switch p.source {
		case fromPeer:
			if !addAddress(key, r.Peer(), p.prefix) {
				return notAddress
			}
		case fromClient:
			if !addAddress(key, r.Client(), p.prefix) {
				return notAddress
			}
		case fromRoute:
			key.Add(r.Route())
		case fromHeader:
			values := r.HeaderValues(p.text)
			value, _ := values.Next()
			if _, more := values.Next(); more {
				return repeated
			}
			if len(value) == 0 && !shares {
				return missing
			}
			key.Add(value)
		case fromConst:
			key.AddText(p.text)
		}
	}
	if _, ok := key.Bytes(); !ok {
		return oversize
	}
	return nil
}

// addAddress adds an IP address: IPv4 whole, also where it is mapped into IPv6, and IPv6 by its prefix, since
// one client has a whole network of them. Text of IPv4 is canonical as it is (GET-5), so it is not parsed.
func addAddress(key *guest.Key, text []byte, prefix int) bool {
	if bytes.IndexByte(text, ':') < 0 {
		key.Add(text)
		return len(text) > 0
	}
	addr, ok := guest.ParseAddr(text)
	if !ok {
		return false
	}
	if addr.Is4In6() {
		var b [len("255.255.255.255")]byte
		key.Add(addr.Unmap().AppendTo(b[:0]))
		return true
	}
	b := addr.As16()
	for i := range b {
		switch keep := prefix - 8*i; {
		case keep <= 0:
			b[i] = 0
		case keep < 8:
			b[i] &= 0xff << (8 - keep)
		}
	}
	key.Add(b[:])
	return true
}
