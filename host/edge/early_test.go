package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

// TestAnswerBeforeBody answers an upload that nobody reads. The client has the answer, whole, though it
// was still sending: thirty times out of thirty.
func TestAnswerBeforeBody(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		respond(x, 429, "slow down")
		return nil
	}}
	s := start(t, f, func(c *config.Server) { c.MaxBody = 1 << 30 })
	upload := strings.Repeat("x", 1<<20)
	for i := range 30 {
		c := s.dial(t)
		sent := make(chan struct{})
		// Stops when all is sent or the server has closed; waited for below.
		go func() {
			defer close(sent)
			io.WriteString(c.Conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n") //nolint:errcheck // see below
			for range 16 {
				if _, err := io.WriteString(c.Conn, upload); err != nil {
					return // what counts is the answer
				}
			}
		}()
		r, body := c.answer("POST")
		if r.StatusCode != 429 || body != "slow down" {
			t.Fatalf("try %d: %d %q", i, r.StatusCode, body)
		}
		<-sent
		c.closed()
		c.Close()
	}
}

// TestAnswerBesideBody has the upstream answer while the client still sends, and both go on: an echo.
func TestAnswerBesideBody(t *testing.T) {
	for _, framing := range []string{"Transfer-Encoding: chunked", "Content-Length: 10"} {
		t.Run(framing, func(t *testing.T) {
			f := &fakeChain{finish: func(x *exchange.Exchange) error {
				respondStream(x, -1, newEcho(x.Request.Stream))
				return nil
			}}
			s := start(t, f)
			c := s.dial(t)
			c.send("POST / HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n")
			chunked := strings.HasPrefix(framing, "T")
			var r *http.Response
			for _, piece := range []string{"hello", "world"} {
				if chunked {
					c.send("5\r\n" + piece + "\r\n")
				} else {
					c.send(piece)
				}
				if r == nil {
					var err error
					if r, err = http.ReadResponse(c.r, nil); err != nil {
						t.Fatal(err)
					}
				}
				got := make([]byte, len(piece))
				if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != piece {
					t.Fatalf("%q, %v", got, err)
				}
			}
			if chunked {
				c.send("0\r\n\r\n")
			}
			if rest, err := io.ReadAll(r.Body); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
			closeWrite(t, c)
			c.closed()
		})
	}
}

// TestAnswerEndsBeforeBody has the upstream end its response while the client is silent in the middle of
// its body. The exchange ends at once; the upstream's reader is not left hanging.
func TestAnswerEndsBeforeBody(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		e := newEcho(x.Request.Stream)
		e.after = 5
		respondStream(x, -1, e)
		return nil
	}}
	s := start(t, f, func(c *config.Server) { c.IdleTimeout = 2 * patience }) // no help from there
	c := s.dial(t)
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	r, body := c.answer("POST")
	if r.StatusCode != 200 || body != "hello" {
		t.Errorf("%d %q", r.StatusCode, body)
	}
	<-s.done
	closeWrite(t, c)
	c.closed()
	if _, ended, _ := f.counts(); ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}

// echo is an upstream that sends back what it gets, as it comes: a goroutine reads the request while the
// response is read.
type echo struct {
	*io.PipeReader
	after int64 // bytes after which the response ends; 0 for all
	done  chan struct{}
	ended int64
}

func newEcho(request io.Reader) *echo {
	r, w := io.Pipe()
	e := &echo{PipeReader: r, done: make(chan struct{})}
	// Stops when the request's body ends or is interrupted; Close waits for it.
	go func() {
		defer close(e.done)
		_, err := io.Copy(w, request)
		w.CloseWithError(err) //nolint:errcheck // always nil
	}()
	return e
}

func (e *echo) Read(b []byte) (int, error) {
	if e.after > 0 && e.ended >= e.after {
		return 0, io.EOF
	}
	n, err := e.PipeReader.Read(b)
	e.ended += int64(n)
	return n, err
}

func (e *echo) Close() error {
	e.PipeReader.Close()
	<-e.done
	return nil
}
