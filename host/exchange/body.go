package exchange

import (
	"errors"
	"io"
)

// Why a request body could not be read whole. A body that was cut short is io.ErrUnexpectedEOF.
var (
	// ErrBodyTooLarge is returned once a body passes its bound: 413.
	ErrBodyTooLarge = errors.New("exchange: request body too large")
	// ErrBodySlow is returned when the client sends too slowly: 408.
	ErrBodySlow = errors.New("exchange: request body too slow")
	// ErrBodyMalformed is returned for broken chunked framing: 400.
	ErrBodyMalformed = errors.New("exchange: request body malformed")
)

// Body is a response body: either Bytes, whole, or a Stream of Length bytes.
type Body struct {
	Bytes  []byte
	Stream io.ReadCloser // nil when Bytes holds the body; the edge closes it exactly once
	Length int64         // of the stream; -1 if unknown
	// Trailer gives the fields after a chunked stream; it may be called once Read has returned io.EOF.
	Trailer func() []Field
}

// Interrupter is a Request.Stream whose Read can be broken off from another goroutine, because nobody wants
// the rest of the body: the upstream has answered already. Interrupt makes a Read that waits, and every
// later one, return an error soon. Once Read has returned io.EOF it does nothing.
type Interrupter interface {
	Interrupt()
}

// Close closes the body's stream, if it has one, and lets it go.
func (r *Response) Close() {
	if r.Body.Stream != nil {
		r.Body.Stream.Close()
		r.Body = Body{}
	}
}
