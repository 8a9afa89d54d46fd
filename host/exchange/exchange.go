// Package exchange is the one value that follows a request from its head to the end of its response. The
// edge makes it, fills it and ends it; host/wasm lets the guests read and write it. It is used by one
// goroutine at a time: the one that serves the request. Nothing in it survives a crash; what must survive
// lies behind the pool's tickets, which it collects.
package exchange

import (
	"io"
	"net/netip"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
)

// Exchange is one request, its response, and all that is held for it meanwhile.
type Exchange struct {
	ID      string // request id: the instance of problem documents, sent upstream as X-Request-Id
	Request Request
	// Response is what the client receives unless a place on the way back changes it. It is valid once
	// the way back has begun.
	Response Response
	Route    string // name of the matched route, bounded by the configuration: fit for a metric label
	Peer     netip.Addr
	Client   netip.Addr // behind trusted proxies; the peer where there are none
	// PeerTrusted says that the peer is a declared proxy, so what it forwards is kept.
	PeerTrusted bool

	Properties Properties
	// Arena holds what filters write into the exchange.
	Arena Arena
	// Places has one entry for each filter of the route, in the order of the chain.
	Places []Place
	// Next is the place whose turn is next on the way forward.
	Next int
	// Tickets are what the response rests on; it leaves when all are durable.
	Tickets pool.Tickets
	// Gate are those of them that must be durable before anything is sent upstream.
	Gate pool.Tickets
	// Reservations are the identities that the exchange has reserved, at most abi.MaxReservations. They are given
	// back where nothing was sent, and kept otherwise.
	Reservations []pool.Reservation
	// Begun is true once a begin of the exchange had a result: there is no second one.
	Begun bool
	// Claim is set by the one begin of the exchange, at place ClaimPlace.
	Claim      *pool.Claim
	ClaimPlace int
	// Once is the spec of the claim's policy.
	Once *abi.OnceSpec
	// Sent is true from the moment on when a byte of the request may have gone upstream. It is false again
	// once it is proven that none did.
	Sent bool
	// UpstreamStatus is the status that the upstream answered with; 0 if it did not.
	UpstreamStatus int
	// Replayed is true when Response comes from a stored row.
	Replayed bool
}

// Request is the request as filters see it and as it will be forwarded.
type Request struct {
	Method    string
	Scheme    string
	Authority []byte // host and port as the client named them
	Path      []byte // as sent, without the query
	Query     []byte // as sent, without the mark
	HasQuery  bool   // the mark was there, so "/a?" keeps it
	RoutePath []byte // canonical: decoded, dots removed, slashes merged; routes match it
	Header    Header

	// Held says that the whole body is in Body; else it streams past the filters.
	Held bool
	Body []byte
	// Stream is the body that is not held, nil if there is none. It ends with io.EOF only where the
	// client's body truly ended. Length is its size in bytes; -1 if the client did not say.
	Stream io.Reader
	Length int64

	// Sent is the request as the client sent it, which digest covers whatever filters rewrite.
	Sent Sent
}

// Sent keeps the parts of the request that a digest covers, as they arrived.
type Sent struct {
	Method                            string
	Authority, Path, Query, MediaType []byte
	HasQuery                          bool
}

// Source says who made a response.
type Source uint8

// The sources of a response.
const (
	FromNone     Source = iota
	FromUpstream        // the upstream answered
	FromFilter          // a filter called respond
	FromHost            // the host answered: an error, a limit of its own
	FromStore           // a stored response, replayed
)

// Response is the response as filters see it on the way back.
type Response struct {
	Status int
	Header Header
	Source Source
	Body   Body
}

// Place is one filter's turn in the chain.
type Place struct {
	Filter string
	// Ops are the response header operations recorded while the request was handled. The edge applies
	// them on the way back, just before the place's porch_response. When the filter itself responds they
	// are the headers of its answer.
	Ops []HeaderOp
	// Body is the body that the filter set for its own answer.
	Body []byte
	// Status is the filter's own answer; 0 if it did not respond.
	Status int
	// Continued is true once porch_request returned 0 without a response: the way back passes here.
	Continued bool
	// Condition is the worst condition that a decision of this place met (Saturated, Unavailable,
	// Capacity); 0 if none. The host answers 503 for it unless the filter's failure policy is open.
	Condition int32
	// Mismatched is true after begin answered Mismatch.
	Mismatched bool
}

// StartPlaces readies n places.
func (x *Exchange) StartPlaces(n int) {
	if cap(x.Places) < n {
		x.Places = make([]Place, n)
		return
	}
	x.Places = x.Places[:n]
}
