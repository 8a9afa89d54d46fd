package acceptance

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// wire is a bare connection, for bytes that no HTTP library would send.
type wire struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, c)
	t.Cleanup(func() { w.Close() })
	return w
}

func newWire(t testing.TB, c net.Conn) *wire {
	c.SetDeadline(time.Now().Add(patience))
	return &wire{t, c, bufio.NewReader(c)}
}

// say sends bytes as they stand.
func (w *wire) say(s string) {
	w.t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

// hear reads one response to a request with that method, whole.
func (w *wire) hear(method string) reply {
	w.t.Helper()
	got, err := w.tryHear(method)
	if err != nil {
		w.t.Fatalf("read response: %v", err)
	}
	return got
}

func (w *wire) tryHear(method string) (reply, error) {
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, resp.Trailer, string(body)}, err
}

// closed says whether the peer has closed, after reading what is left.
func (w *wire) closed() bool {
	_, err := io.Copy(io.Discard, w.in)
	var timeout net.Error
	return err == nil || !errors.As(err, &timeout) || !timeout.Timeout()
}

// script is an upstream that answers each connection by a function of the test's, byte by byte.
type script struct {
	address string
}

// serveScript gives each connection, with its number from 1, to serve, which owns it until it returns.
func serveScript(t testing.TB, serve func(n int, w *wire)) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	// Stops when the listener is closed at the end of the test.
	go func() {
		defer close(served)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			// Stops when serve returns; every read and write of a wire has a deadline.
			go func() {
				defer c.Close()
				serve(n, newWire(t, c))
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-served })
	return &script{l.Addr().String()}
}

// request reads the head of a request; its body is left to the caller.
func (w *wire) request() (*http.Request, error) {
	return http.ReadRequest(w.in)
}
