package acceptance

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// proxies is a configuration without filters.
func proxies(address string) config { return config{to: address} }

// The target goes upstream byte for byte.
func TestTargetArrivesAsSent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, proxies(up.address))
	for _, target := range []string{
		"/", "/a?", "/a%2Fb//c", "//a//b", "/a/./b/../c", "/%61%2e", "/a?b=c&b=d?e", "/a?%zz", "/a?+%20",
		"/a;b=c,d", "/a'()*!$&+:@~", "/%E2%82%AC", "/a?q=%E2%82%AC#", "/trailing/", "/" + strings.Repeat("a", 4000),
	} {
		w := dial(t, p.listen)
		w.say("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		got := w.hear("GET")
		if strings.HasSuffix(target, "#") { // a fragment is no part of a request's target
			wantProblem(t, got, http.StatusBadRequest, blank)
			continue
		}
		wantStatus(t, got, http.StatusOK)
		if sent := up.last().target; sent != target {
			t.Errorf("%q arrives as %q", target, sent)
		}
	}
}

// A target in absolute form goes upstream in origin form; it names the host that Host names.
func TestAbsoluteTarget(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, proxies(up.address))
	w := dial(t, p.listen)
	w.say("GET http://b.example/x?y HTTP/1.1\r\nHost: b.example\r\n\r\nGET http://b.example HTTP/1.1\r\nHost: B.example\r\n\r\n")
	for i, target := range []string{"/x?y", "/"} {
		wantStatus(t, w.hear("GET"), http.StatusOK)
		if got := up.rows()[i]; !strings.EqualFold(got.host, "b.example") || got.target != target {
			t.Errorf("arrives as %q for %q, want %q", got.target, got.host, target)
		}
	}
}

func TestHostPolicies(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, upstream: "host: client",
		upstreams: fmt.Sprintf(`own: { targets: ["http://%s"], host: target }`, up.address),
		routes:    []string{"path: /client, upstream: app", "path: /target, upstream: own"}})
	p.client().send(request{target: "/client", host: "shop.example:81"})
	if got := up.last().host; got != "shop.example:81" {
		t.Errorf("host: client sends %q", got)
	}
	p.client().send(request{target: "/target", host: "shop.example:81"})
	if got := up.last(); got.host != up.address || got.header.Get("X-Forwarded-Host") != "shop.example:81" {
		t.Errorf("host: target sends %q, forwarded %q", got.host, got.header.Get("X-Forwarded-Host"))
	}
}

// Fields that belong to one connection stop at it, in both directions; all others pass as they are.
func TestHopByHopFields(t *testing.T) {
	t.Parallel()
	lines := make(chan []string, 1)
	up := serveScript(t, func(_ int, w *wire) {
		for {
			var head []string
			for {
				line, err := w.in.ReadString('\n')
				if err != nil {
					return
				}
				if line = strings.TrimRight(line, "\r\n"); line == "" {
					break
				}
				head = append(head, line)
			}
			lines <- head
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x-down, keep-alive\r\nX-Down: 1\r\n"+
				"Keep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\nProxy-Connection: keep-alive\r\nUpgrade: h2c\r\n"+
				"X-End: 1\r\nX-End: 2\r\nServer: theirs\r\n\r\nok")
		}
	})
	p := launch(t, proxies(up.address))
	w := dial(t, p.listen)
	w.say("GET / HTTP/1.1\r\nHost: a\r\nConnection: X-Up, te, close\r\nX-Up: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\n" +
		"Proxy-Authorization: Basic eA==\r\nProxy-Connection: close\r\nUpgrade: websocket\r\n" +
		"X-Each: 1\r\nx-each: 2\r\nAccept-Encoding: br\r\nUser-Agent: mine\r\n\r\n")
	got := w.hear("GET")
	head := strings.ToLower(strings.Join(<-lines, "\n"))
	for _, name := range []string{"x-up:", "keep-alive:", "proxy-authorization:", "proxy-connection:", "upgrade:", "close"} {
		if strings.Contains(head, name) {
			t.Errorf("the upstream receives %s\n%s", name, head)
		}
	}
	for _, line := range []string{"x-each: 1\nx-each: 2", "accept-encoding: br", "user-agent: mine"} {
		if !strings.Contains(head, line) {
			t.Errorf("the upstream misses %q\n%s", line, head)
		}
	}
	for _, name := range []string{"X-Down", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Upgrade"} {
		if v := got.header.Values(name); len(v) > 0 {
			t.Errorf("the client receives %s: %q", name, v)
		}
	}
	if v := got.header.Values("X-End"); len(v) != 2 || got.header.Get("Server") != "theirs" {
		t.Errorf("the client receives %v", got.header)
	}
	if _, ok := got.header["Content-Type"]; ok {
		t.Errorf("a content type was made up: %v", got.header)
	}
	if !w.closed() {
		t.Error("the connection outlives Connection: close")
	}
	// The client's close was not the upstream's: its connection serves the next request.
	p.client().send(request{})
	<-lines
}

func TestForwardedFields(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	claimed := header("X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example",
		"Forwarded", "for=192.0.2.1;proto=https;host=shop.example")
	for _, c := range []struct {
		name, trusted          string
		forwardedFor, proto    string
		forwardedHost          string
		forwardedHas, notInFor string
	}{
		{"from a stranger, replaced", "", "127.0.0.1", "http", "a.example", "for=127.0.0.1", "192.0.2.1"},
		{"from a trusted proxy, appended", "trusted_proxies: [127.0.0.1/32]", "192.0.2.1, 127.0.0.1", "https, http", "shop.example, a.example",
			"for=192.0.2.1;proto=https;host=shop.example, for=127.0.0.1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := proxies(up.address)
			cfg.further = c.trusted
			p := launch(t, cfg)
			got := p.client()
			got.send(request{target: "/" + c.trusted[:min(1, len(c.trusted))], host: "a.example", header: claimed})
			var h http.Header
			for _, r := range up.rows() {
				if r.target == "/"+c.trusted[:min(1, len(c.trusted))] {
					h = r.header
				}
			}
			if v := strings.Join(h.Values("X-Forwarded-For"), ", "); v != c.forwardedFor {
				t.Errorf("X-Forwarded-For %q, want %q", v, c.forwardedFor)
			}
			if v := h.Values("X-Forwarded-Proto"); len(v) != 1 || v[0] != c.proto {
				t.Errorf("X-Forwarded-Proto %q, want %q", v, c.proto)
			}
			if v := h.Values("X-Forwarded-Host"); len(v) != 1 || v[0] != c.forwardedHost {
				t.Errorf("X-Forwarded-Host %q, want %q", v, c.forwardedHost)
			}
			v := strings.Join(h.Values("Forwarded"), ", ")
			if !strings.Contains(v, c.forwardedHas) || c.notInFor != "" && strings.Contains(v, c.notInFor) {
				t.Errorf("Forwarded %q, want %q", v, c.forwardedHas)
			}
		})
	}
}

// Responses that have no body, whatever their fields say, and the connection after them.
func TestResponsesWithoutBody(t *testing.T) {
	t.Parallel()
	up := serveScript(t, func(_ int, w *wire) {
		for {
			r, err := w.request()
			if err != nil {
				return
			}
			switch r.URL.Path {
			case "/head":
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: text/plain\r\n\r\n")
			case "/head-chunked":
				io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			case "/204":
				io.WriteString(w, "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n")
			case "/304":
				io.WriteString(w, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 1000\r\n\r\n")
			case "/empty":
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			case "/hinted":
				io.WriteString(w, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			default:
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
			}
		}
	})
	p := launch(t, proxies(up.address))
	w := dial(t, p.listen)
	for _, c := range []struct {
		method, target string
		status         int
		length         string
	}{
		{"HEAD", "/head", 200, "1000"},
		{"HEAD", "/head-chunked", 200, ""},
		{"GET", "/204", 204, ""},
		{"HEAD", "/204", 204, ""},
		{"GET", "/304", 304, "1000"},
		{"GET", "/empty", 200, "0"},
	} {
		w.say(c.method + " " + c.target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		got := w.hear(c.method)
		wantStatus(t, got, c.status)
		if got.body != "" {
			t.Errorf("%s %s: body %q", c.method, c.target, got.body)
		}
		if c.status != 304 && got.header.Get("Content-Length") != c.length {
			t.Errorf("%s %s: Content-Length %q, want %q", c.method, c.target, got.header.Get("Content-Length"), c.length)
		}
		// What follows on the same connection is the next response, whole.
		w.say("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
		if next := w.hear("GET"); next.body != "whole" {
			t.Fatalf("after %s %s: %d %q", c.method, c.target, next.status, next.body)
		}
	}
	w.say("GET /hinted HTTP/1.1\r\nHost: a\r\n\r\n")
	got := w.hear("GET")
	for got.status == http.StatusEarlyHints {
		got = w.hear("GET")
	}
	if got.status != 200 || got.body != "ok" {
		t.Errorf("after early hints: %d %q", got.status, got.body)
	}
}

// Bytes that an upstream sends unasked on an idle connection are nobody's response.
func TestPoisonedConnectionIsNotUsed(t *testing.T) {
	t.Parallel()
	poison, poisoned := make(chan struct{}), make(chan struct{})
	up := serveScript(t, func(n int, w *wire) {
		for i := 0; ; i++ {
			if _, err := w.request(); err != nil {
				return
			}
			fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n)
			if n == 1 && i == 0 {
				<-poison
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
				close(poisoned)
			}
		}
	})
	p := launch(t, proxies(up.address))
	c := p.client()
	if got := c.send(request{}); got.body != "1" {
		t.Fatalf("first: %q", got.body)
	}
	close(poison)
	<-poisoned
	for range 3 {
		if got := c.send(request{}); got.body != "2" {
			t.Errorf("after the poison: %q, want the answer of a new connection", got.body)
		}
	}
}

// An upstream that closes its idle connection costs no request, not even one that must not be sent twice.
func TestClosedConnectionIsNotUsed(t *testing.T) {
	t.Parallel()
	left, closed := make(chan struct{}), make(chan struct{})
	up := serveScript(t, func(n int, w *wire) {
		for {
			r, err := w.request()
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n)
			if n == 1 {
				<-left
				w.Close()
				close(closed)
				return
			}
		}
	})
	p := launch(t, proxies(up.address))
	c := p.client()
	if got := c.send(request{body: "order"}); got.body != "1" {
		t.Fatalf("first: %q", got.body)
	}
	close(left)
	<-closed
	if got := c.send(request{body: "order"}); got.status != 200 || got.body != "2" {
		t.Errorf("after the close: %d %q", got.status, got.body)
	}
}

// HTTP/1.0 on either side.
func TestVersionOne(t *testing.T) {
	t.Parallel()
	up := serveScript(t, func(_ int, w *wire) {
		r, err := w.request()
		if err != nil {
			return
		}
		fmt.Fprintf(w, "HTTP/1.0 200 OK\r\n\r\nuntil the end, for %s", r.Proto)
	})
	p := launch(t, proxies(up.address))
	w := dial(t, p.listen)
	w.say("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
	got := w.hear("GET")
	if got.status != 200 || got.body != "until the end, for HTTP/1.1" || !w.closed() {
		t.Errorf("%d %q", got.status, got.body)
	}
	if te := got.header.Get("Transfer-Encoding"); te != "" {
		t.Errorf("HTTP/1.0 answered with Transfer-Encoding %q", te)
	}
	w = dial(t, p.listen)
	w.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if got := w.hear("GET"); got.body != "until the end, for HTTP/1.1" {
		t.Errorf("to HTTP/1.1: %d %q", got.status, got.body)
	}
}
