package edge

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/upstream"
)

// whole starts a server with the real chain, without filters, before the real upstream.
func whole(t *testing.T, h http.HandlerFunc) *testServer {
	t.Helper()
	origin := httptest.NewServer(h)
	t.Cleanup(origin.Close)
	u, err := upstream.New(config.Upstream{Name: "app", Targets: []string{origin.URL}, Timeout: patience}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return start(t, chain.New(chain.Config{Upstream: u, Logger: slog.New(slog.DiscardHandler)}))
}

// TestWhole sends requests through everything but filters.
func TestWhole(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<14)
	tests := []struct {
		name, raw, method string
		status            int
		body              string
	}{
		{"get", "GET /a%2Fb//c?d HTTP/1.1\r\nHost: a\r\n\r\n", "GET", 200, "GET /a%2Fb//c?d a "},
		{"head", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD", 200, ""},
		{"post", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "POST", 200, "POST / a hello"},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "POST", 200, "POST / a hello"},
		{"large", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 262144\r\n\r\n" + large, "POST", 200, large},
		{"not modified", "GET /304 HTTP/1.1\r\nHost: a\r\n\r\n", "GET", 304, ""},
	}
	var ran atomic.Int64
	s := whole(t, func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		switch r.URL.Path {
		case "/echo":
			http.NewResponseController(w).EnableFullDuplex() //nolint:errcheck // HTTP/1.1
			io.Copy(w, r.Body)                               //nolint:errcheck // the test reads it
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		default:
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Host+" "+string(body)) //nolint:errcheck // likewise
		}
	})
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := s.dial(t)
			c.send(tt.raw)
			r, body := c.answer(tt.method)
			if r.StatusCode != tt.status || body != tt.body {
				t.Errorf("%d, %d bytes: %.80q", r.StatusCode, len(body), body)
			}
			<-s.done
			if n := ran.Load(); n != int64(i+1) {
				t.Errorf("the upstream ran %d times", n)
			}
		})
	}
	if n := s.Stats(); n.Requests != 0 || n.HeldBodies != 0 {
		t.Errorf("left: %+v", n)
	}
}

// TestWholeEarlyAnswer has the upstream refuse an upload at once: the client has the refusal.
func TestWholeEarlyAnswer(t *testing.T) {
	s := whole(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	c := s.dial(t)
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nfirst")
	if r, _ := c.answer("POST"); r.StatusCode != 403 {
		t.Errorf("status %d", r.StatusCode)
	}
	<-s.done
	if n := s.Stats(); n.Requests != 0 {
		t.Errorf("left: %+v", n)
	}
}

// TestWholeBrokenOff has the upstream die in the middle of its response.
func TestWholeBrokenOff(t *testing.T) {
	s := whole(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 1<<16)) //nolint:errcheck // breaks off in any case
		panic(http.ErrAbortHandler)
	})
	c := s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if raw, err := io.ReadAll(c.r); err == nil || strings.HasSuffix(string(raw), "0\r\n\r\n") {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// TestWholeShortBody cuts a body short: the upstream is not given it as a whole one.
func TestWholeShortBody(t *testing.T) {
	for _, framing := range []string{"Content-Length: 100000\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"} {
		failed := make(chan error, 1)
		s := whole(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			failed <- err
		})
		c := s.dial(t)
		c.send("POST / HTTP/1.1\r\nHost: a\r\n" + framing)
		closeWrite(t, c)
		if r, body := c.answer("POST"); r.StatusCode != 400 {
			t.Errorf("%d %s", r.StatusCode, body)
		}
		if err := <-failed; err == nil {
			t.Error("the upstream took the body for whole")
		}
	}
}

// BenchmarkWhole is one small request through everything but filters, over one connection.
func BenchmarkWhole(b *testing.B) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })) //nolint:errcheck // small
	defer origin.Close()
	u, err := upstream.New(config.Upstream{Name: "app", Targets: []string{origin.URL}, Timeout: patience}, upstream.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	benchmark(b, chain.New(chain.Config{Upstream: u, Logger: slog.New(slog.DiscardHandler)}))
}

// BenchmarkEdge is the edge's own share of it.
func BenchmarkEdge(b *testing.B) { benchmark(b, &fakeChain{}) }
