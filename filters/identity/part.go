// Package identity builds keys of what a request is known by: an address, a route, a header, a verified claim.
// The filters idempotency and replayguard read their scopes and keys with it. Parts stand behind their lengths,
// so no two different requests run together.
package identity

import (
	"strconv"
	"strings"

	"github.com/porchedge/porch/guest"
)

// Source is where a part comes from.
type Source uint8

// The sources.
const (
	Peer   Source = iota // the address at the other end of the connection, whole
	Client               // the address behind trusted proxies, whole
	Route                // the name of the route
	Header               // a request header, which stands there once and is not empty
	Claim                // a claim that an earlier filter has verified
	Const                // a text of the configuration
)

// spellings of the sources in a configuration; those with a colon want a text behind it.
var spellings = [...]string{"peer", "client", "route", "header:", "claim:", "const:"}

// wanted is what a text has to be.
var wanted = [...]string{
	Header: "the name of a header, like header:X-Tenant",
	Claim:  "the name of a claim, like claim:tenant_id",
	Const:  "a text of 1 to 64 bytes, like const:all",
}

const longestText = 64 // bytes of a constant or of a claim's name

// Part is one part of a key.
type Part struct {
	source Source
	text   string
}

// Parse reads an entry of a configuration that allows some sources; wrong says why it is none.
func Parse(s string, allowed ...Source) (p Part, wrong string) {
	for _, source := range allowed {
		spelling := spellings[source]
		text, found := strings.CutPrefix(s, spelling)
		named := strings.HasSuffix(spelling, ":")
		switch {
		case !found, !named && text != "":
			continue
		case named && !isText(source, text):
			return Part{}, spelling + " wants " + wanted[source] + ", not " + strconv.Quote(text)
		}
		return Part{source, text}, ""
	}
	return Part{}, "must be " + list(allowed) + ", not " + strconv.Quote(s)
}

func isText(source Source, text string) bool {
	if source == Header {
		return guest.HeaderName(text) == ""
	}
	return text != "" && len(text) <= longestText
}

func list(sources []Source) string {
	var b strings.Builder
	for i, s := range sources {
		switch {
		case i > 0 && i == len(sources)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(spellings[s])
		switch s {
		case Header, Claim:
			b.WriteString("NAME")
		case Const:
			b.WriteString("TEXT")
		}
	}
	return b.String()
}

// Why a request is not known.
var (
	missingHeader  = unknown("a header that this request must carry is missing or empty")
	repeatedHeader = unknown("a header that this request must carry once stands there more than once")
	missingClaim   = unknown("this request has no token with a claim that it must carry")
	tooLong        = unknown("what this request is known by is too long")
)

func unknown(detail string) *guest.Problem {
	return &guest.Problem{Status: 400, Title: "Bad Request", Detail: detail}
}

// Add appends the parts to a key. A problem, 400, says why the request has no such key.
func Add(parts []Part, r *guest.Request, key *guest.Key) *guest.Problem {
	for i := range parts {
		if wrong := parts[i].add(r, key); wrong != nil {
			return wrong
		}
	}
	return nil
}

// Bytes is the key; a problem says that its parts are together too long.
func Bytes(key *guest.Key) ([]byte, *guest.Problem) {
	b, ok := key.Bytes()
	if !ok {
		return nil, tooLong
	}
	return b, nil
}

func (p *Part) add(r *guest.Request, key *guest.Key) *guest.Problem {
	switch p.source {
	case Peer:
		key.Add(r.Peer())
	case Client:
		key.Add(r.Client())
	case Route:
		key.Add(r.Route())
	case Header:
		values := r.HeaderValues(p.text)
		value, _ := values.Next()
		if _, more := values.Next(); more {
			return repeatedHeader
		}
		if len(value) == 0 {
			return missingHeader
		}
		key.Add(value)
	case Claim:
		value, ok := r.Claim(p.text)
		if !ok {
			return missingClaim
		}
		key.Add(value)
	case Const:
		key.AddText(p.text)
	}
	return nil
}
