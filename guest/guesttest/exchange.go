package guesttest

import (
	"cmp"
	"strings"

	"github.com/porchedge/porch/abi"
)

// Request is the request that a filter will see. Empty parts have the values of a plain GET of "/" from
// 192.0.2.1.
type Request struct {
	Method, Scheme, Authority string
	Target                    string // path as sent, with its query
	RoutePath                 string // canonical; the path if empty
	Header                    []Field
	Body                      []byte
	Peer, Client              string // the client is the peer if empty
	ID, Route                 string
	// Properties are those that other filters have left, under their full names.
	Properties []Field
}

// Field is a name with its value.
type Field struct {
	Name, Value string
}

func (r Request) withDefaults() Request {
	r.Method = cmp.Or(r.Method, "GET")
	r.Scheme = cmp.Or(r.Scheme, "http")
	r.Authority = cmp.Or(r.Authority, "example.com")
	r.Target = cmp.Or(r.Target, "/")
	path, _, _ := strings.Cut(r.Target, "?")
	r.RoutePath = cmp.Or(r.RoutePath, path)
	r.Peer = cmp.Or(r.Peer, "192.0.2.1")
	r.Client = cmp.Or(r.Client, r.Peer)
	r.ID = cmp.Or(r.ID, "request-1")
	r.Route = cmp.Or(r.Route, "/")
	return r
}

// Exchange is what became of a request.
type Exchange struct {
	// Request is what goes on to the upstream.
	Request Request
	// Failed is true if the filter's last call failed.
	Failed bool
	// Status is the filter's own answer, with Recorded as its header and Body; 0 if it did not answer.
	Status int
	Body   string
	// Recorded are the response header operations, in order.
	Recorded []Op
	// Properties are all that are there, under their full names.
	Properties []Field
	// Decided are the results of Count and Begin, in order.
	Decided []int32
	// Condition is the condition of a decision for which the host answers 503; 0 if there is none.
	Condition abi.Condition
	// Claimed is true once Begin has given a claim; Key and Digest are those of that Begin, or of the last one.
	Claimed bool
	Claim   int32
	Key     string
	Digest  [abi.DigestSize]byte

	// Response is the response on its way back, as the filter left it.
	Response Response
	// Replayed and Executed say what the filter reads as outcome.
	Replayed, Executed bool

	sent    Request
	writes  int
	flight  string // that it owns, under its key in Host.flights
	refuses bool   // the flight's policy refuses unknown outcomes

	reserved []string // under their keys in Host.reservations
}

// Response is a response on its way back.
type Response struct {
	Status int
	Header []Field
}

// Get returns the first value under name.
func (r *Response) Get(name string) (string, bool) { return get(r.Header, name) }

// Answer returns the header of the filter's own answer.
func (x *Exchange) Answer() []Field {
	var header []Field
	for _, op := range x.Recorded {
		op.apply(&header)
	}
	return header
}

// Op is one recorded operation on the response header.
type Op struct {
	Verb        string // "set", "add" or "remove"
	Name, Value string
}

func (op Op) apply(header *[]Field) bool {
	switch op.Verb {
	case "add":
		*header = append(*header, Field{op.Name, op.Value})
	case "set":
		set(header, op.Name, op.Value)
	case "remove":
		return remove(header, op.Name)
	}
	return true
}

func get(fields []Field, name string) (string, bool) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

func set(fields *[]Field, name, value string) {
	for i := range *fields {
		if strings.EqualFold((*fields)[i].Name, name) {
			(*fields)[i].Value = value
			rest := (*fields)[i+1:]
			remove(&rest, name)
			*fields = append((*fields)[:i+1:i+1], rest...)
			return
		}
	}
	*fields = append(*fields, Field{name, value})
}

func remove(fields *[]Field, name string) bool {
	var kept []Field
	for _, f := range *fields {
		if !strings.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	removed := len(kept) < len(*fields)
	*fields = kept
	return removed
}
