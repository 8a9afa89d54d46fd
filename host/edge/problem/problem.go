// Package problem writes the error answers of the host as problem documents (RFC 9457). What it writes
// tells a client what happened and what it can do; never a trap's text, a path or an address.
package problem

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/porchedge/porch/host/exchange"
)

// MediaType is the type of every problem document.
const MediaType = "application/problem+json"

// Problem types. Blank means nothing beyond the status (RFC 9457 section 4.2.1); the others are
// registered for rate limits (draft-ietf-httpapi-ratelimit-headers).
const (
	Blank           = "about:blank"
	ReducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Problem is one error answer.
type Problem struct {
	Status int
	Type   string // Blank if empty
	Detail string
	// RetryAfter is the whole seconds a client should wait; 0 sends no Retry-After.
	RetryAfter int
}

// Unavailable is the answer where the host cannot decide or serve just now. Retry-After has jitter, so
// that the clients that were refused together do not return together.
func Unavailable(detail string) Problem {
	return Problem{
		Status:     http.StatusServiceUnavailable,
		Type:       ReducedCapacity,
		Detail:     detail,
		RetryAfter: 1 + rand.IntN(retrySpread),
	}
}

const retrySpread = 4 // seconds

// Fill makes p the response of x.
func Fill(x *exchange.Exchange, p Problem) {
	body := JSON(p, x.ID)
	r := &x.Response
	r.Status = p.Status
	r.Source = exchange.FromHost
	r.Body = exchange.Body{Bytes: body}
	r.Header.Reset()
	r.Header.Add([]byte("Content-Type"), []byte(MediaType))
	r.Header.Add([]byte("Cache-Control"), []byte("no-store"))
	if p.RetryAfter > 0 {
		r.Header.Add([]byte("Retry-After"), strconv.AppendInt(nil, int64(p.RetryAfter), 10))
	}
}

// JSON is the document of p. instance is the request id.
func JSON(p Problem, instance string) []byte {
	kind := p.Type
	if kind == "" {
		kind = Blank
	}
	doc, err := json.Marshal(document{kind, http.StatusText(p.Status), p.Status, p.Detail, instance})
	if err != nil {
		panic("problem: a document of strings and one number must marshal: " + err.Error())
	}
	return doc
}

type document struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
}
