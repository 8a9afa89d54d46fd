package edge

import (
	"errors"
	"io"
	"sync"

	"github.com/porchedge/porch/host/edge/listen"
	"github.com/porchedge/porch/host/exchange"
)

// errStopped is what a reader gets after the request has ended.
var errStopped = errors.New("edge: the request has ended")

// body is a request's body as it streams past the filters. fasthttp ends a body that was cut short like a
// whole one; this one compares with what was announced. It is read by one goroutine at a time, which may
// be the upstream's writer; it outlives its request, so that a late reader gets an error and never the
// bytes of the next request.
type body struct {
	conn   *listen.Conn
	length int64 // announced; -1 for chunked
	limit  int64

	mu   sync.Mutex // held by a read
	from io.Reader  // nil until the client was told to go on
	read int64
	end  error // why there is no more; nil while there may be
}

// Read returns io.EOF only where the client's body truly ended, and with its last bytes where the length
// was announced.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		return 0, b.end
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	switch {
	case b.length >= 0 && b.read == b.length:
		b.end = io.EOF
	case b.length < 0 && b.read > b.limit:
		b.end = exchange.ErrBodyTooLarge
		return 0, b.end
	case err == io.EOF && b.length < 0:
		b.end = io.EOF
	case err != nil:
		b.end = b.explain()
	}
	return n, b.end
}

// explain says why a read failed. The parser's own error does not tell: a connection that broke and
// nonsense between chunks look alike to it.
func (b *body) explain() error {
	switch b.conn.Failure() {
	case nil:
		return exchange.ErrBodyMalformed
	case listen.ErrSlow:
		return exchange.ErrBodySlow
	default:
		return io.ErrUnexpectedEOF
	}
}

// Interrupt ends the body for whoever reads it: a read in progress fails, and has returned when Interrupt
// does. The rest stays in the connection, which cannot serve another request if a read was broken off.
func (b *body) Interrupt() {
	if !b.mu.TryLock() {
		b.conn.Interrupt()
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if b.end == nil {
		b.end = errStopped
	}
}

var _ exchange.Interrupter = (*body)(nil)

// whole says whether the body was read to its end.
func (b *body) whole() bool {
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	return b.end == io.EOF
}

// broken says whether the body failed, or is still being read: the connection cannot serve another request.
func (b *body) broken() bool {
	if !b.mu.TryLock() {
		return true
	}
	defer b.mu.Unlock()
	return b.end != nil && b.end != io.EOF
}

// firstHeld is what is set aside for a body before its first byte has come, in bytes: the announced length
// alone is no reason to give memory away.
const firstHeld = 16 << 10

// hold reads the body into memory, up to most bytes.
func (b *body) hold(most int64) ([]byte, error) {
	if b.length > most {
		return nil, exchange.ErrBodyTooLarge
	}
	held := make([]byte, 0, min(max(b.length, 512), firstHeld))
	for {
		if len(held) == cap(held) {
			held = append(held, 0)[:len(held)]
		}
		n, err := b.Read(held[len(held):cap(held)])
		held = held[:len(held)+n]
		switch {
		case int64(len(held)) > most:
			return nil, exchange.ErrBodyTooLarge
		case err == io.EOF:
			return held, nil
		case err != nil:
			return nil, err
		}
	}
}
