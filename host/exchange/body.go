package exchange

import "io"

// Body is a response body: either Bytes, whole, or a Stream of Length bytes.
type Body struct {
	Bytes  []byte
	Stream io.ReadCloser // nil when Bytes holds the body; the edge closes it exactly once
	Length int64         // of the stream; -1 if unknown
	// Trailer gives the fields after a chunked stream; it may be called once Read has returned io.EOF.
	Trailer func() []Field
}
