package upstream

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

// inlineBody is the largest body that is sent together with its head. So much fits into the buffers of any
// new or idle connection, so writing it does not wait for an upstream that would rather answer.
const inlineBody = 16 << 10

// outputs hold the heads of requests, and small bodies after them, until they are written.
var outputs = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

func freeOutput(out *[]byte) {
	if cap(*out) <= 2*inlineBody {
		*out = (*out)[:0]
		outputs.Put(out)
	}
}

// contentLength is the size of r's body; -1 if it is not known before its end.
func contentLength(r *exchange.Request) int64 {
	switch {
	case r.Held:
		return int64(len(r.Body))
	case r.Stream == nil:
		return 0
	default:
		return r.Length
	}
}

// appendHead appends the head of x's request as t will receive it: the target byte for byte, the fields in
// their order, and what Porch itself says in place of what the client said of it.
//
// Expect is not passed on: the client has had its 100 by the time its body is read. Nor are Trailer and TE,
// since trailers of requests end here. Via is added as RFC 9110 section 7.6.3 asks of a gateway.
func (u *Upstream) appendHead(dst []byte, x *exchange.Exchange, t *target) ([]byte, error) {
	r := &x.Request
	r.Header.RemoveHopByHop()
	if !isToken(r.Method) || !isTarget(r.Path) || !isQuery(r.Query) {
		return dst, errUnsendable
	}
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, r.Path...)
	if r.HasQuery {
		dst = append(dst, '?')
		dst = append(dst, r.Query...)
	}
	dst = append(dst, " HTTP/1.1\r\n"...)
	if u.host == config.HostTarget || len(r.Authority) == 0 {
		dst = appendField(dst, "Host", t.authority)
	} else {
		if !clean(r.Authority) {
			return dst, errUnsendable
		}
		dst = appendField(dst, "Host", r.Authority)
	}
	dst, err := appendFields(dst, x)
	if err != nil {
		return dst, err
	}
	return appendFraming(dst, r), nil
}

// appendFields appends the client's fields but those that Porch writes itself, and then these.
func appendFields(dst []byte, x *exchange.Exchange) ([]byte, error) {
	seen := [fieldKinds]bool{}
	for _, f := range x.Request.Header.Fields {
		kind := kindOf(f.Name)
		seen[kind] = true
		if kind != passed {
			continue
		}
		if !isToken(f.Name) || !clean(f.Value) {
			return dst, errUnsendable
		}
		dst = appendField(dst, f.Name, f.Value)
	}
	dst = appendForwarded(dst, x, seen[:])
	return appendField(dst, "X-Request-Id", x.ID), nil
}

func appendFraming(dst []byte, r *exchange.Request) []byte {
	switch n := contentLength(r); {
	case n < 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case n > 0 || expectsBody(r.Method):
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// expectsBody says whether a request without a body says so (RFC 9110 section 8.6).
func expectsBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

func appendField[N, V string | []byte](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// isTarget says whether path is fit for a request line: in origin form, or the asterisk.
func isTarget(path []byte) bool {
	return len(path) > 0 && (path[0] == '/' || len(path) == 1 && path[0] == '*') && isQuery(path)
}

// isQuery says whether text has nothing that ends it, or the request line, early.
func isQuery(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c == 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// fieldKind says what becomes of a request's field.
type fieldKind uint8

const (
	passed       fieldKind = iota // as it is
	ownField                      // Porch writes it itself, or nobody does
	spoofable                     // of the X-Forwarded family, beside the three below: kept from a trusted proxy
	forwardedFor                  // these lists are appended to, or replaced
	forwardedHost
	forwardedProto
	forwarded
	via
	fieldKinds
)

func kindOf(name []byte) fieldKind {
	switch len(name) {
	case 3:
		return kindIf(via, name, nameVia)
	case 4:
		return kindIf(ownField, name, nameHost)
	case 6:
		return kindIf(ownField, name, nameExpect)
	case 7:
		return kindIf(ownField, name, nameTrailer)
	case 9:
		return kindIf(forwarded, name, nameForwarded)
	case 12:
		if kind := kindIf(ownField, name, nameRequestID); kind != passed {
			return kind
		}
	case 14:
		if kind := kindIf(ownField, name, nameContentLength); kind != passed {
			return kind
		}
	}
	if len(name) <= len(prefixForwarded) || !bytes.EqualFold(name[:len(prefixForwarded)], prefixForwarded) {
		return passed
	}
	switch {
	case bytes.EqualFold(name, nameForwardedFor):
		return forwardedFor
	case bytes.EqualFold(name, nameForwardedHost):
		return forwardedHost
	case bytes.EqualFold(name, nameForwardedProto):
		return forwardedProto
	default:
		return spoofable
	}
}

func kindIf(kind fieldKind, name, wanted []byte) fieldKind {
	if bytes.EqualFold(name, wanted) {
		return kind
	}
	return passed
}

var (
	nameVia            = []byte("Via")
	nameHost           = []byte("Host")
	nameExpect         = []byte("Expect")
	nameTrailer        = []byte("Trailer")
	nameForwarded      = []byte("Forwarded")
	nameRequestID      = []byte("X-Request-Id")
	prefixForwarded    = []byte("X-Forwarded-")
	nameForwardedFor   = []byte("X-Forwarded-For")
	nameForwardedHost  = []byte("X-Forwarded-Host")
	nameForwardedProto = []byte("X-Forwarded-Proto")
)
