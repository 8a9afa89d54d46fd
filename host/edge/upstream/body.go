package upstream

import (
	"io"

	"github.com/porchedge/porch/host/exchange"
)

// body streams a response from its connection, which it owns until Close. One goroutine uses it.
type body struct {
	reader *reader
	// request is what was still being sent when the response began; nil if nothing was.
	request *upload
	// reuse says that the connection outlives a response that was read whole.
	reuse bool

	framing framing
	left    int64 // bytes of a fixed length, or of the present chunk, that were not read yet
	chunk   bool  // inside of a chunk, or before the line end after it
	trailer exchange.Header
	err     error // what Read returns from now on: io.EOF after the whole body
	closed  bool
}

type framing uint8

const (
	fixed      framing = iota // left bytes
	untilClose                // up to the end of the connection
	chunked
)

// Read reads on. A body that is cut short ends in an *Error over io.ErrUnexpectedEOF, never in io.EOF.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	var n int
	switch b.framing {
	case fixed:
		n, b.err = b.readLeft(p)
	case untilClose:
		n, b.err = b.reader.Read(p)
	case chunked:
		n, b.err = b.readChunk(p)
	}
	if b.err != nil && b.err != io.EOF {
		b.err = b.failure(b.err)
	}
	if n > 0 && b.err == io.EOF {
		return n, nil
	}
	return n, b.err
}

// readLeft reads from a run of known length.
func (b *body) readLeft(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
		if b.left == 0 {
			err = nil
		}
	}
	return n, err
}

// whole says whether the body was read to its end. A reader that knows the length need not have met io.EOF.
func (b *body) whole() bool {
	return b.err == io.EOF || b.err == nil && b.framing == fixed && b.left == 0
}

// failure is why the body was cut short.
func (b *body) failure(err error) error {
	if b.request != nil {
		if cause := b.request.cause(); cause != nil {
			return cause
		}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return failure(err, true)
}

// Close gives the connection back if response and request are complete and nothing is left over; else it
// closes it. It waits until nobody reads the client's body any more.
func (b *body) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	whole := b.whole()
	if b.err == nil {
		b.err = &Error{Kind: Unreachable, Sent: true, Err: io.ErrClosedPipe}
	}
	settle(b.reader, b.request, b.reuse && whole && b.framing != untilClose)
	b.reader = nil
	return nil
}

// settle ends the use of a connection after a response: back to the pool if it may be reused and the whole
// request went out and nothing came after the response, else closed.
func settle(r *reader, request *upload, reuse bool) {
	if request != nil {
		request.stop()
		if request.err != nil {
			r.conn.target.early.Add(1)
			reuse = false
		}
	}
	reuse = reuse && len(r.buffered()) == 0
	c := r.conn
	r.free()
	if reuse {
		c.release()
	} else {
		c.discard()
	}
}
