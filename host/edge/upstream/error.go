package upstream

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/valyala/fasthttp"
)

// Kind says how a request to an upstream failed.
type Kind uint8

// The kinds.
const (
	Unreachable Kind = iota // no connection, or it broke before the response's head
	Timeout                 // no answer in time
	Nonsense                // an answer that cannot be used
	ClientBody              // the client's body could not be read
	Busy                    // too many requests are at the upstream or wait for a connection
	Unsendable              // the request as filters left it cannot be written as HTTP/1.1
)

// Error is a request that failed upstream. Reading a response's Stream also returns it.
type Error struct {
	Kind Kind
	// Sent says that at least one byte of the request was sent: the upstream may have acted on it.
	Sent bool
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("upstream: %v", e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errGone       = errors.New("a fresh connection was closed by the upstream")
	errTooMany    = errors.New("too many requests at the upstream")
	errEndedEarly = errors.New("the upstream closed the connection before its response")
	errStopped    = errors.New("the rest of the request is not wanted")
	errUnsendable = errors.New("the request cannot be written as HTTP/1.1")
)

// nonsense is what an upstream sent and HTTP/1.1 does not allow, or does not let us read in one way only.
type nonsense string

func (n nonsense) Error() string { return string(n) }

// failure sorts an error of the connection to the upstream.
func failure(err error, sent bool) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	var bad nonsense
	var network net.Error
	kind := Unreachable
	switch {
	case errors.As(err, &bad):
		kind = Nonsense
	case errors.Is(err, errTooMany), errors.Is(err, fasthttp.ErrNoFreeConns):
		kind = Busy
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		kind = Timeout
	}
	return &Error{Kind: kind, Sent: sent, Err: err}
}
