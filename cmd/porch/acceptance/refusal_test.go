package acceptance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Requests that two readers could understand in two ways, and others that porch does not serve: refused
// without a byte sent upstream, and nothing that follows them on the connection is taken for a request.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "max_head: 8KiB, max_body: 1MiB"})
	// smuggled is what must never be executed, after a body that one of two readers ends before it.
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	const get, post = "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n"
	for _, c := range []struct {
		name, bytes string
		status      int
	}{
		{"length and chunks", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunks and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"two lengths", post + "Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + smuggled, 400},
		{"two equal lengths", post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + smuggled, 400},
		{"list of lengths", post + "Content-Length: 0, 0\r\n\r\n" + smuggled, 400},
		{"signed length", post + "Content-Length: +0\r\n\r\n" + smuggled, 400},
		{"negative length", post + "Content-Length: -1\r\n\r\n" + smuggled, 400},
		{"hexadecimal length", post + "Content-Length: 0x0\r\n\r\n" + smuggled, 400},
		{"length that is no number", post + "Content-Length: a\r\n\r\n" + smuggled, 400},
		{"length out of range", post + "Content-Length: 99999999999999999999\r\n\r\n" + smuggled, 400},
		{"empty length", post + "Content-Length:\r\n\r\n" + smuggled, 400},
		{"length in words", post + "Content_Length: 40\r\n\r\n" + smuggled, 400},
		{"identity coding", post + "Transfer-Encoding: identity\r\n\r\n" + smuggled, 400},
		{"unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n" + smuggled, 400},
		{"coding after chunked", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"coding before chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked with something", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked quoted", post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked after a vertical tab", post + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked in words", post + "Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"chunked in 1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		{"space before the colon", post + "Content-Length : 0\r\n\r\n" + smuggled, 400},
		{"space before a name", post + " X-A: 1\r\n\r\n" + smuggled, 400},
		{"space within a name", get + "X A: 1\r\n\r\n", 400},
		{"tab within a name", get + "X\tA: 1\r\n\r\n", 400},
		{"control within a name", get + "X\x01A: 1\r\n\r\n", 400},
		{"bytes above ASCII in a name", get + "X\xc3\xa4: 1\r\n\r\n", 400},
		{"no name", get + ": 1\r\n\r\n", 400},
		{"no colon", get + "X-A\r\n\r\n", 400},
		{"folded line", get + "X-A: 1\r\n 2\r\n\r\n", 400},
		{"folded length", post + "Content-Length:\r\n 0\r\n\r\n" + smuggled, 400},
		{"bare line feed after a field", get + "X-A: 1\nX-B: 2\r\n\r\n", 400},
		{"bare line feed at the end", get + "X-A: 1\r\n\n" + smuggled, 400},
		{"bare carriage return", get + "X-A: 1\rX-B: 2\r\n\r\n", 400},
		{"zero byte in a value", get + "X-A: 1\x002\r\n\r\n", 400},
		{"control in a value", get + "X-A: 1\x012\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"two hosts", get + "Host: b\r\n\r\n", 400},
		{"two equal hosts", get + "Host: a\r\n\r\n", 400},
		{"user in the host", "GET / HTTP/1.1\r\nHost: user:pass@a\r\n\r\n", 400},
		{"path in the host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		{"space in the host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
		{"port that is no number", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400},
		{"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
		{"target for another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"user in the target", "GET http://user:pass@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"other scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"target without slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"control in the target", "GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"connect", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 501},
		{"trace", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
		{"lower-case method", "get / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"version 2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
		{"version 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
		{"version 0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
		{"version that is none", "GET / HTTX/1.1\r\nHost: a\r\n\r\n", 400},
		{"unknown expectation", post + "Content-Length: 5\r\nExpect: a-miracle\r\n\r\norder", 417},
		{"expectation and another", post + "Content-Length: 5\r\nExpect: 100-continue, a-miracle\r\n\r\norder", 417},
		{"large head", get + "X-A: " + strings.Repeat("a", 9<<10) + "\r\n\r\n", 431},
		{"large target", "GET /" + strings.Repeat("a", 9<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
		{"many fields", get + strings.Repeat("X-A: 1\r\n", 900) + "\r\n", 431},
		{"large body", post + "Content-Length: 1048577\r\n\r\n", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, rows := up.received.Load(), len(up.rows())
			w := dial(t, p.listen)
			w.say(c.bytes)
			got := w.hear("POST")
			wantProblem(t, got, c.status, blank)
			if !w.closed() {
				t.Error("the connection outlives the refusal")
			}
			if n := up.received.Load() - before; n != 0 {
				t.Errorf("%d bytes reached the upstream: %v", n, up.rows()[rows:])
			}
		})
	}
}

// Targets that are refused leave no doubt where their request ends, so the connection goes on.
func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, routes: []string{
		"path: /, upstream: app",
		"path: /admin, methods: [GET], upstream: app",
	}})
	w := dial(t, p.listen)
	for _, c := range []struct{ name, target string }{
		{"broken escape", "/%zz"},
		{"escape cut short", "/%2"},
		{"zero escape", "/%00"},
		{"two routes by dots", "/x/../admin"},
		{"two routes by escapes", "/%61dmin"},
		{"two routes by slashes", "//admin"},
		{"two routes by an escaped slash", "/admin%2Fx"},
	} {
		w.say("GET " + c.target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		got := w.hear("GET")
		if got.status != http.StatusBadRequest {
			t.Errorf("%s:", c.name)
		}
		wantProblem(t, got, http.StatusBadRequest, blank)
	}
	if n := up.received.Load(); n != 0 {
		t.Errorf("%d bytes reached the upstream", n)
	}
	w.say("GET /admin HTTP/1.1\r\nHost: a\r\n\r\n")
	wantStatus(t, w.hear("GET"), http.StatusOK)
}

// What looks odd and is right.
func TestOddRequestsAreServed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "max_head: 8KiB"})
	for _, c := range []struct{ name, bytes, body string }{
		{"empty line before", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"own method", "PURGE / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"names in any case", "POST / HTTP/1.1\r\nhOST: a\r\ncONTENT-lENGTH: 1\r\n\r\nx", "x"},
		{"blanks around a value", "POST / HTTP/1.1\r\nHost:a\r\nContent-Length: \t1 \t\r\n\r\nx", "x"},
		{"chunked in capitals", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "x"},
		{"chunk extension", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n", "x"},
		{"trailer", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: 1\r\n\r\n", "x"},
		{"body of a GET", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "x"},
		{"literal address", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", ""},
		{"bytes above ASCII in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"field name with underscore", "GET / HTTP/1.1\r\nHost: a\r\nX_A: 1\r\n\r\n", ""},
		{"bytes above ASCII in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: \xc3\xa4\r\n\r\n", ""},
		{"OPTIONS for the server", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dial(t, p.listen)
			w.say(c.bytes)
			method, _, _ := strings.Cut(strings.TrimSpace(c.bytes), " ")
			wantStatus(t, w.hear(method), http.StatusOK)
			if body := up.last().body; body != c.body {
				t.Errorf("body %q, want %q", body, c.body)
			}
			// The connection goes on with the next request.
			w.say("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
			wantStatus(t, w.hear("GET"), http.StatusOK)
			if target := up.last().target; target != "/next" {
				t.Errorf("the next request arrives as %q", target)
			}
		})
	}
}

// Requests sent without waiting for answers are answered in their order.
func TestPipelining(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, proxies(up.address))
	w := dial(t, p.listen)
	const n = 20
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", i)
	}
	w.say(all.String())
	for i := range n {
		if got := w.hear("POST"); got.body != fmt.Sprintf("row %d\n", i+1) {
			t.Fatalf("answer %d is %d %q", i, got.status, got.body)
		}
		if target := up.rows()[i].target; target != fmt.Sprintf("/%d", i) {
			t.Errorf("row %d is %q", i, target)
		}
	}
}

// A client that stops in the middle of its head or its body.
func TestSlowClientsAreRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "idle_timeout: 1s", filters: []filter{idempotency("ttl: 1h")}})
	for _, c := range []struct{ name, bytes string }{
		{"in the request line", "GET / HT"},
		{"in the head", "GET / HTTP/1.1\r\nHost: a\r\nX-A"},
		{"in a body that streams", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\norder"},
		{"in a chunked body that streams", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\norder\r\n"},
		{"in a body that is held", "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 10\r\n\r\norder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := dial(t, p.listen)
			w.say(c.bytes)
			wantProblem(t, w.hear("POST"), http.StatusRequestTimeout, blank)
			if !w.closed() {
				t.Error("the connection outlives the refusal")
			}
		})
	}
	t.Run("silent before a request", func(t *testing.T) {
		t.Parallel()
		w := dial(t, p.listen)
		if !w.closed() {
			t.Error("an idle connection is kept for ever")
		}
	})
	t.Cleanup(func() { up.wantRows(0) })
}

// A client that drips its body is refused though it never stops; one that sends steadily for longer than
// the idle deadline is served.
func TestDrippingClientIsRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "idle_timeout: 1s, min_rate: 1KiB"})
	drip := func(size, every int) reply {
		w := dial(t, p.listen)
		fmt.Fprintf(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
		sent, answered := 0, make(chan struct{})
		dripping := start(1, func(int) {
			tick := newTicker(t)
			for sent < size {
				select {
				case <-answered:
					return
				case <-tick:
				}
				if _, err := w.Write(make([]byte, min(every, size-sent))); err != nil {
					return
				}
				sent += every
			}
		})
		got := w.hear("POST")
		close(answered)
		dripping()
		return got
	}
	t.Run("one byte a tick", func(t *testing.T) {
		t.Parallel()
		wantProblem(t, drip(1<<20, 1), http.StatusRequestTimeout, blank)
	})
	t.Run("enough a tick", func(t *testing.T) {
		t.Parallel()
		wantStatus(t, drip(200<<10, 1<<10), http.StatusOK)
	})
}

// The listener serves no more connections than it may; those that wait are served as others end.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "max_connections: 4"})
	up.hold()
	c := p.client()
	four := c.startAll(4, always(request{}))
	for range 4 {
		up.arrival()
	}
	w := dial(t, p.listen)
	w.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	got, err := w.tryHear("GET")
	if err == nil { // the answer to a connection that is turned away may be lost
		wantStatus(t, got, http.StatusServiceUnavailable)
	}
	if n := up.held(); n != 4 {
		t.Errorf("%d requests reach the upstream, want 4", n)
	}
	up.open()
	for _, got := range four() {
		wantStatus(t, got, http.StatusOK)
	}
	c.http.CloseIdleConnections()
	await(t, "a new connection is served", func() bool {
		got, err := p.client().try(request{})
		return err == nil && got.status == http.StatusOK
	})
}
