package edge

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

// blocking is a chain whose requests wait for release.
func blocking() (f *fakeChain, came, release chan struct{}) {
	came, release = make(chan struct{}, 64), make(chan struct{})
	return &fakeChain{finish: func(x *exchange.Exchange) error {
		came <- struct{}{}
		<-release
		respond(x, 200, "ok")
		return nil
	}}, came, release
}

// TestDrain shuts down while one request runs and two connections wait: the request is answered, and its
// connection told to close; the others close at once; nobody gets in.
func TestDrain(t *testing.T) {
	f, came, release := blocking()
	s := start(t, f)
	fresh, kept, busy := s.dial(t), s.dial(t), s.dial(t)
	kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-came
	release <- struct{}{}
	kept.answer("GET")
	busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-came

	ended := make(chan error, 1)
	// Stops when the server has drained; waited for below.
	go func() { ended <- s.Shutdown(context.Background()) }()
	fresh.closed()
	kept.closed()
	if c, err := net.Dial("tcp", s.addr); err == nil {
		c.Close()
		t.Error("a new connection was taken")
	}
	close(release)
	r, body := busy.answer("GET")
	if r.StatusCode != 200 || body != "ok" || !r.Close {
		t.Errorf("%d %q, close %v", r.StatusCode, body, r.Close)
	}
	busy.Close()
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if n := s.Stats(); n.Connections != 0 || n.Requests != 0 {
		t.Errorf("left: %+v", n)
	}
}

// TestDrainCutShort shuts down twice, or with a context that ends: requests that still run lose their
// connections.
func TestDrainCutShort(t *testing.T) {
	for _, how := range []string{"second call", "context"} {
		t.Run(how, func(t *testing.T) {
			f, came, release := blocking()
			s := start(t, f)
			c := s.dial(t)
			c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			<-came
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan error, 1)
			// Stops when it is cut short; waited for below.
			go func() { ended <- s.Shutdown(ctx) }()
			for !s.conns.Draining() {
			}
			if how == "context" {
				cancel()
			} else if err := s.Shutdown(ctx); !errors.Is(err, ErrAborted) {
				t.Errorf("second: %v", err)
			}
			if err := <-ended; !errors.Is(err, ErrAborted) {
				t.Errorf("first: %v", err)
			}
			if raw, err := io.ReadAll(c.r); err == nil || len(raw) > 0 {
				t.Errorf("%q, %v", raw, err)
			}
			close(release)
			<-s.done
		})
	}
}

// TestTooManyConnections opens one more than allowed: it is told so, and there is room again when another
// has left.
func TestTooManyConnections(t *testing.T) {
	s := start(t, &fakeChain{}, func(c *config.Server) { c.MaxConnections = 2 })
	ask := func(c *client) int {
		c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		r, _ := c.answer("GET")
		return r.StatusCode
	}
	first, second := s.dial(t), s.dial(t)
	if a, b := ask(first), ask(second); a != 200 || b != 200 {
		t.Fatalf("%d, %d", a, b)
	}
	third := s.dial(t)
	r, body := third.answer("GET")
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
	}
	third.closed()
	if n := s.Stats(); n.TurnedAway != 1 || n.Connections != 2 {
		t.Errorf("%+v", n)
	}
	closeWrite(t, first)
	first.closed() // the server has seen it leave
	for s.Stats().Connections > 1 {
	}
	if got := ask(s.dial(t)); got != 200 {
		t.Errorf("after one has left: %d", got)
	}
}

// TestDrainHammer shuts servers down under load: each request is answered or was never begun.
func TestDrainHammer(t *testing.T) {
	for range 20 {
		f := &fakeChain{}
		s := start(t, f)
		answered := 0
		var mu sync.Mutex
		var clients sync.WaitGroup
		for range 8 {
			c := s.dial(t)
			// Stops when the server has closed its connection; waited for below.
			clients.Go(func() {
				defer c.Close()
				for {
					if _, err := io.WriteString(c.Conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
						return
					}
					line, err := c.r.ReadString('\n')
					if err != nil {
						return
					}
					if line != "HTTP/1.1 200 OK\r\n" {
						t.Errorf("%q", line)
						return
					}
					for line != "\r\n" {
						if line, err = c.r.ReadString('\n'); err != nil {
							t.Error(err)
							return
						}
					}
					io.ReadFull(c.r, make([]byte, 2)) //nolint:errcheck // "ok"
					mu.Lock()
					answered++
					mu.Unlock()
				}
			})
		}
		for range 50 {
			<-s.done
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		clients.Wait()
		if _, ended, _ := f.counts(); ended != answered {
			t.Fatalf("%d requests ran, %d were answered", ended, answered)
		}
	}
}
