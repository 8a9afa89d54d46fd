package admin

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, ready func() error) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Listener: l,
		Ready:    ready,
		Metrics:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "metric 1\n") }),
		Logger:   slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// client keeps no connections, so that none outlives a test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestPages(t *testing.T) {
	var reason atomic.Pointer[error]
	base := serve(t, func() error {
		if p := reason.Load(); p != nil {
			return *p
		}
		return nil
	})
	starting := errors.New("starting")
	for _, step := range []struct {
		name   string
		reason *error
		path   string
		status int
		body   string
	}{
		{"alive", nil, "/healthz", 200, "alive\n"},
		{"ready", nil, "/readyz", 200, "ready\n"},
		{"not ready", &starting, "/readyz", 503, "not ready: starting\n"},
		{"alive though not ready", &starting, "/healthz", 200, "alive\n"},
		{"ready again", nil, "/readyz", 200, "ready\n"},
		{"metrics", nil, "/metrics", 200, "metric 1\n"},
		{"another page", nil, "/", 404, "404 page not found\n"},
	} {
		t.Run(step.name, func(t *testing.T) {
			reason.Store(step.reason)
			status, body := get(t, base+step.path)
			if status != step.status || body != step.body {
				t.Errorf("%d %q, want %d %q", status, body, step.status, step.body)
			}
		})
	}
}

// TestConnectionsAreBounded opens one connection more than there may be: it is answered once another one
// has gone.
func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(inner, 1)
	defer l.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan net.Conn)
	// Stops when Accept returns; the test waits for what it sends.
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		second <- c
	}()
	select {
	case <-second:
		t.Fatal("a second connection was accepted beside the only one allowed")
	default:
	}
	first.Close()
	first.Close() // gives back one slot only
	(<-second).Close()
}
