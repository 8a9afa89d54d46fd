package edge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/porchedge/porch/host/exchange"
)

var (
	errPanicked = errors.New("edge: panic while a response was streamed")
	errCutShort = errors.New("edge: the response ended before its length")
)

// stream is a response's body on its way to the client. fasthttp copies it after the handler has returned;
// its Close ends the exchange.
type stream struct {
	call   *call
	body   exchange.Body
	length int64 // -1 if unknown
	header *fasthttp.ResponseHeader
	status int
}

// stream takes the response's body over from the exchange.
func (c *call) stream(header *fasthttp.ResponseHeader) *stream {
	r := &c.x.Response
	c.out = stream{call: c, body: r.Body, length: max(r.Body.Length, -1), header: header, status: r.Status}
	return &c.out
}

const copyBuffer = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// WriteTo copies the body piece by piece as it comes; fasthttp flushes each where the length is unknown.
// A body that breaks off ends the client's connection by a reset, never as if it were whole.
func (s *stream) WriteTo(w io.Writer) (n int64, err error) {
	buffer := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buffer)
	for {
		read, readErr := s.Read(buffer[:])
		if read > 0 {
			written, err := w.Write(buffer[:read])
			n += int64(written)
			if err != nil {
				return n, err
			}
		}
		switch {
		case readErr == nil:
			continue
		case readErr != io.EOF:
			err = readErr
		case s.length >= 0 && n < s.length:
			err = errCutShort
		}
		if err != nil {
			s.fail(err)
			return n, err
		}
		s.trail()
		return n, nil
	}
}

// SupportsBodyWriteTo tells fasthttp that WriteTo may stand for Read.
func (*stream) SupportsBodyWriteTo() bool { return true }

// Read reads from the upstream. A panic below becomes an error here.
func (s *stream) Read(p []byte) (n int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.call.logPanic(cause)
			n, err = 0, errPanicked
		}
	}()
	return s.body.Stream.Read(p)
}

func (s *stream) fail(err error) {
	x := s.call.x
	s.call.server.log.LogAttrs(context.Background(), slog.LevelWarn, "response broke off",
		slog.String("route", x.Route), slog.String("request", x.ID), slog.Any("error", err))
	s.call.conn.Abort()
}

// trail sets the fields that came after a body of unknown length. They were not announced, which the
// protocol allows: fasthttp would move a field of the same name from the head.
func (s *stream) trail() {
	if s.length >= 0 || s.body.Trailer == nil {
		return
	}
	for _, f := range s.body.Trailer() {
		if s.header.AddTrailerBytes(f.Name) == nil {
			s.header.AddBytesKV(f.Name, f.Value)
		}
	}
}

// Close ends the exchange.
func (s *stream) Close() error {
	s.call.end(s.status)
	return nil
}
