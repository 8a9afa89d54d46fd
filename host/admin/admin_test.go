package admin

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// endless is a listener on which somebody is always dialing.
type endless struct{ net.Listener }

func (endless) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return c, nil
}

func (endless) Close() error { return nil }

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit(endless{}, 2)
		accepted := make(chan net.Conn)
		// Stops when the listener is closed; the test waits for the channel's end.
		go func() {
			defer close(accepted)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		next := func() net.Conn {
			synctest.Wait()
			select {
			case c := <-accepted:
				return c
			default:
				return nil
			}
		}
		first, second := next(), next()
		if first == nil || second == nil {
			t.Fatal("two connections may be open")
		}
		if next() != nil {
			t.Fatal("accepted a third connection beside the two allowed")
		}
		first.Close()
		first.Close() // gives back one slot only
		if next() == nil {
			t.Fatal("a connection has gone, and the next one was not accepted")
		}
		if next() != nil {
			t.Fatal("closing twice gave back two slots")
		}
		l.Close()
		for range accepted {
			t.Fatal("accepted after Close")
		}
	})
}
