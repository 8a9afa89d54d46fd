// Package head checks the head of a request as it came over the wire and fills an exchange's request from
// it. It is stricter than the parser before it: a head that two implementations might read differently is
// refused, so nothing ambiguous goes upstream. It is called by host/edge, first before a byte of the body
// is read and again when the request is served; it keeps no state, so a crash concerns it not.
package head

import (
	"net/http"
	"sync"

	"github.com/porchedge/porch/host/exchange"
)

// Head is a request's head in the parts that the parser cut it into, byte for byte as they arrived.
type Head struct {
	Method, Target, Protocol []byte
	// Fields are the field lines with the empty line that ends them; empty if there are none.
	Fields []byte
}

// Limits bound what a head may announce.
type Limits struct {
	Fields int   // field lines
	Body   int64 // bytes of body
}

// Refusal is why a head is refused. Its detail is fixed text, so nothing of the request is repeated.
type Refusal struct {
	Status int
	Detail string
}

func (r *Refusal) Error() string { return "head: " + r.Detail }

// The refusals.
var (
	errMethod         = &Refusal{http.StatusBadRequest, "the method is not a word of capital letters"}
	errNotImplemented = &Refusal{http.StatusNotImplemented, "this method is not served here"}
	// ErrVersion refuses every version but 1.0 and 1.1.
	ErrVersion        = &Refusal{http.StatusHTTPVersionNotSupported, "only HTTP/1.0 and HTTP/1.1 are served here"}
	errTarget         = &Refusal{http.StatusBadRequest, "the request target is malformed"}
	errFragment       = &Refusal{http.StatusBadRequest, "the request target has a fragment"}
	errAuthority      = &Refusal{http.StatusBadRequest, "the host is malformed"}
	errUserInfo       = &Refusal{http.StatusBadRequest, "the host carries user information"}
	errTwoAuthorities = &Refusal{http.StatusBadRequest, "the request target and Host name different hosts"}
	errHost           = &Refusal{http.StatusBadRequest, "exactly one Host field is needed"}
	errLine           = &Refusal{http.StatusBadRequest, "a field line does not end in CR LF"}
	errFold           = &Refusal{http.StatusBadRequest, "a field value is folded over lines"}
	errName           = &Refusal{http.StatusBadRequest, "a field name is malformed"}
	errValue          = &Refusal{http.StatusBadRequest, "a field value holds a control character"}
	errShadow         = &Refusal{http.StatusBadRequest, "a field name with an underscore shadows another field"}
	errLength         = &Refusal{http.StatusBadRequest, "exactly one Content-Length of digits is allowed"}
	errCoding         = &Refusal{http.StatusBadRequest, "the only transfer coding allowed is chunked, once, in HTTP/1.1"}
	errTwoFramings    = &Refusal{http.StatusBadRequest, "Content-Length and Transfer-Encoding exclude each other"}
	errTwoTypes       = &Refusal{http.StatusBadRequest, "more than one Content-Type"}
	errExpectation    = &Refusal{http.StatusExpectationFailed, "the only expectation met is 100-continue"}
	errTooManyFields  = &Refusal{http.StatusRequestHeaderFieldsTooLarge, "too many field lines"}
	errBodyTooLarge   = &Refusal{http.StatusRequestEntityTooLarge, "the request body is too large"}
)

// Read checks the head and fills r from it: everything but the body's stream. The slices in r point into
// the head. expects says that the client waits for 100 Continue before it sends its body. An error is a
// *Refusal; r is then of no use.
//
// Expect is left out of r's header: it is met here, and the upstream sees the body at once.
func (h Head) Read(r *exchange.Request, l Limits) (expects bool, err error) {
	if err := h.method(r); err != nil {
		return false, err
	}
	var modern bool
	switch string(h.Protocol) {
	case "HTTP/1.1":
		modern = true
	case "HTTP/1.0":
	default:
		return false, ErrVersion
	}
	f := fields{left: l.Fields}
	if err := f.read(h.Fields, &r.Header); err != nil {
		return false, err
	}
	if r.Length, err = f.framing(modern, l.Body); err != nil {
		return false, err
	}
	if f.hosts > 1 || modern && f.hosts == 0 {
		return false, errHost
	}
	if f.types > 1 {
		return false, errTwoTypes
	}
	if f.expects && modern && !f.continues {
		return false, errExpectation
	}
	r.Scheme = "http"
	r.Authority = f.host
	if err := h.target(r); err != nil {
		return false, err
	}
	r.Sent = exchange.Sent{
		Method: r.Method, Authority: r.Authority, Path: r.Path, Query: r.Query, HasQuery: r.HasQuery,
		MediaType: f.mediaType,
	}
	return f.expects && modern && r.Length != 0, nil
}

var scratch = sync.Pool{New: func() any { return new(exchange.Request) }}

// Check is Read without a request to fill.
func (h Head) Check(l Limits) (expects bool, err error) {
	r := scratch.Get().(*exchange.Request)
	defer scratch.Put(r)
	expects, err = h.Read(r, l)
	r.Header.Reset()
	*r = exchange.Request{Header: r.Header}
	return expects, err
}

// maxMethod is longer than every registered method, in bytes.
const maxMethod = 32

// method takes over the method. Methods are case-sensitive, so a lower-case one is another method that
// some servers take for the known one.
func (h Head) method(r *exchange.Request) error {
	if len(h.Method) == 0 || len(h.Method) > maxMethod {
		return errMethod
	}
	for _, c := range h.Method {
		if (c < 'A' || c > 'Z') && c != '-' {
			return errMethod
		}
	}
	switch string(h.Method) {
	case http.MethodConnect, http.MethodTrace:
		return errNotImplemented
	}
	r.Method = methodName(h.Method)
	return nil
}

// methodName spares an allocation for the usual methods.
func methodName(b []byte) string {
	switch string(b) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodOptions:
		return http.MethodOptions
	}
	return string(b)
}
