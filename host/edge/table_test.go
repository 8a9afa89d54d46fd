package edge

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/porchedge/porch/host/edge/route"
	"github.com/porchedge/porch/host/exchange"
)

// privateTable has a route of its own for /private, and takes requests for the host "a" alone.
func privateTable(t *testing.T, f Chain) *Table {
	t.Helper()
	table, err := NewTable([]Route{
		{Name: "a", Rule: route.Rule{Host: "a", Path: "/"}, Chain: f},
		{Name: "private", Rule: route.Rule{Host: "a", Path: "/private"}, Chain: f},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestSwap puts another table into service while a request runs: that one ends on the table that it began
// with, which drains then and not before; the next one runs on the new table.
func TestSwap(t *testing.T) {
	came, release := make(chan struct{}), make(chan struct{})
	old := &fakeChain{finish: func(x *exchange.Exchange) error {
		close(came)
		<-release
		respond(x, 200, "old")
		return nil
	}}
	s := start(t, old)
	first := s.dial(t)
	first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-came

	fresh := &fakeChain{}
	if was := s.Swap(privateTable(t, fresh)); was != s.table {
		t.Error("Swap returned another table")
	}
	second := s.dial(t)
	second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := second.answer("GET"); body != "ok" {
		t.Errorf("%q", body)
	}
	select {
	case <-s.table.Drained():
		t.Fatal("drained under a request")
	default:
	}
	close(release)
	if _, body := first.answer("GET"); body != "old" {
		t.Errorf("%q", body)
	}
	<-s.table.Drained()
	first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := first.answer("GET"); body != "ok" {
		t.Errorf("on the old connection: %q", body)
	}
}

// TestNoTable answers while there is nothing to serve.
func TestNoTable(t *testing.T) {
	s := start(t, &fakeChain{})
	s.Swap(nil)
	<-s.table.Drained()
	c := s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	r, body := c.answer("GET")
	checkProblem(t, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"), body, 503)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if old := s.Swap(privateTable(t, &fakeChain{})); old != nil {
		t.Error("there was a table")
	}
}

// TestSwapHammer swaps tables under load: no request fails, and every table drains.
func TestSwapHammer(t *testing.T) {
	f := &fakeChain{}
	s := start(t, f)
	var clients sync.WaitGroup
	for range 8 {
		c := s.dial(t)
		// Stops after its requests; waited for below.
		clients.Go(func() {
			for range 200 {
				c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
				if r, _ := c.answer("POST"); r.StatusCode != 200 {
					t.Errorf("status %d", r.StatusCode)
					return
				}
			}
		})
	}
	for range 200 {
		<-s.Swap(privateTable(t, f)).Drained()
	}
	clients.Wait()
	if started, ended, _ := f.counts(); started != 1600 || ended != 1600 {
		t.Errorf("%d started, %d ended", started, ended)
	}
}

// TestRouteName shows what an observer is told.
func TestRouteName(t *testing.T) {
	s := start(t, &fakeChain{})
	s.Swap(privateTable(t, &fakeChain{}))
	c := s.dial(t)
	for _, tt := range []struct {
		path string
		want served
	}{{"/", served{"a", 200}}, {"/private/x", served{"private", 200}}, {"/%zz", served{"", 400}}} {
		c.send("GET " + tt.path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		c.answer("GET")
		if got := <-s.done; got != tt.want {
			t.Errorf("%s: %+v", tt.path, got)
		}
	}
}

// TestSameRequests has two routes take the same requests.
func TestSameRequests(t *testing.T) {
	_, err := NewTable([]Route{{Rule: route.Rule{Path: "/a"}}, {Rule: route.Rule{Path: "/a/"}}}, nil)
	if err == nil {
		t.Error("no error")
	}
}

// TestIdentity shows whose word counts: client address and request id behind a trusted proxy, and not
// otherwise.
func TestIdentity(t *testing.T) {
	const raw = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1, 198.51.100.7\r\nX-Request-Id: abc-1\r\n\r\n"
	f := &fakeChain{}
	s := start(t, f) // trusts 127.0.0.0/8
	c := s.dial(t)
	c.send(raw)
	c.answer("GET")
	if l := f.last(); l.client != "198.51.100.7" || l.id != "abc-1" || !l.trusted {
		t.Errorf("behind a proxy: %+v", l)
	}
	s.Swap(privateTable(t, f)) // trusts nobody
	c.send(raw)
	c.answer("GET")
	if l := f.last(); l.client != "127.0.0.1" || l.id == "abc-1" || l.id == "" || l.trusted {
		t.Errorf("from a stranger: %+v", l)
	}
	if !slices.ContainsFunc(f.last().header, func(s string) bool { return strings.HasPrefix(s, "X-Forwarded-For") }) {
		t.Error("the field itself is the upstream's to replace")
	}
}
