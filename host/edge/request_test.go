package edge

import (
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/exchange"
)

// TestForwarded shows what the chain sees of requests that are allowed.
func TestForwarded(t *testing.T) {
	tests := []struct {
		name, raw string
		want      func(s seen) bool
	}{
		{"plain", "GET /a?b=c HTTP/1.1\r\nHost: a:80\r\n\r\n", func(s seen) bool {
			return s.method == "GET" && s.path == "/a" && s.query == "b=c" && s.hasQuery && s.authority == "a:80"
		}},
		{"empty query keeps its mark", "GET /a? HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool {
			return s.path == "/a" && s.query == "" && s.hasQuery
		}},
		{"no query", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return !s.hasQuery }},
		{"path as sent", "GET /a%2Fb//c HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool {
			return s.path == "/a%2Fb//c" && s.routePath == "/a/b/c"
		}},
		{"query as sent", "GET /?b=%zz&&c+d HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return s.query == "b=%zz&&c+d" }},
		{"two slashes and a URL", "GET //x?u=http://b:y@c/ HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool {
			return s.path == "//x" && s.query == "u=http://b:y@c/" && s.authority == "a"
		}},
		{"absolute target", "GET http://A/x HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return s.path == "/x" && s.authority == "A" }},
		{"absolute target without path", "GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return s.path == "/" && s.query == "b" }},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return s.path == "*" }},
		{"IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", func(s seen) bool { return s.authority == "[::1]:8080" }},
		{"1.0 without Host", "GET / HTTP/1.0\r\n\r\n", func(s seen) bool { return s.authority == "" }},
		{"bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", func(s seen) bool { return s.authority == "a" }},
		{"fields in order, duplicates and case kept", "GET / HTTP/1.1\r\nHost: a\r\nx-B: 1\r\nX-a: 2\r\nx-b:3 \r\nUser-Agent: u\r\nUser-Agent: v\r\n\r\n", func(s seen) bool {
			return slices.Equal(s.header, []string{"Host: a", "x-B: 1", "X-a: 2", "x-b: 3", "User-Agent: u", "User-Agent: v"})
		}},
		{"hop-by-hop fields end here", "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Mine, Authorization\r\nX-Mine: 1\r\nAuthorization: b\r\nTE: gzip\r\nUpgrade: h2c\r\n\r\n", func(s seen) bool {
			return slices.Equal(s.header, []string{"Host: a", "Authorization: b"})
		}},
		{"extension method", "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", func(s seen) bool { return s.method == "M-SEARCH" }},
		{"body of a length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", func(s seen) bool {
			return s.body == "hello" && s.length == 5 && !s.held
		}},
		{"body of GET", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", func(s seen) bool { return s.body == "hello" }},
		{"no body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", func(s seen) bool { return s.body == "" && s.length == 0 && s.held }},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX: trailer\r\n\r\n", func(s seen) bool {
			return s.body == "hello" && s.length == -1
		}},
		{"multipart is not looked into", "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5\r\n\r\nhello", func(s seen) bool {
			return s.body == "hello"
		}},
		{"long body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000), func(s seen) bool {
			return s.body == strings.Repeat("x", 100000)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeChain{}
			c := start(t, f).dial(t)
			// Twice, so that what the first leaves behind is seen.
			for range 2 {
				c.send(tt.raw)
				r, body := c.answer("GET")
				if r.StatusCode != 200 || body != "ok" {
					t.Fatalf("%d %q", r.StatusCode, body)
				}
				if s := f.last(); !tt.want(s) {
					t.Fatalf("saw %+v", s)
				}
				if strings.Contains(tt.raw, "HTTP/1.0") {
					break // closes
				}
			}
			if started, ended, forwarded := f.counts(); started != ended || started != forwarded {
				t.Errorf("%d started, %d ended, %d forwarded", started, ended, forwarded)
			}
		})
	}
}

// TestHeld shows the body in memory where a filter needs it.
func TestHeld(t *testing.T) {
	tests := []struct {
		name, raw string
		status    int
		body      string
	}{
		{"of a length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 200, "hello"},
		{"none", "POST / HTTP/1.1\r\nHost: a\r\n\r\n", 200, ""},
		{"at the cap", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), 200, strings.Repeat("x", 1000)},
		{"chunks at the cap", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat("x", 1000) + "\r\n0\r\n\r\n", 200, strings.Repeat("x", 1000)},
		{"above the cap", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + strings.Repeat("x", 1001), 413, ""},
		{"chunks above the cap", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + strings.Repeat("x", 1001) + "\r\n0\r\n\r\n", 413, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeChain{bodyCap: 1000, advance: needBody}
			s := start(t, f)
			c := s.dial(t)
			c.send(tt.raw)
			r, _ := c.answer("POST")
			if r.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", r.StatusCode, tt.status)
			}
			started, ended, forwarded := f.counts()
			if want := map[bool]int{true: 1}[tt.status == 200]; started != 1 || ended != 1 || forwarded != want {
				t.Errorf("%d started, %d ended, %d forwarded", started, ended, forwarded)
			}
			if last := f.last(); last.body != tt.body || tt.status == 200 && !last.held {
				t.Errorf("held %v: %q", last.held, last.body)
			}
			<-s.done
			if st := s.Stats(); st.HeldBodies != 0 || st.HeldBytes != 0 || st.Requests != 0 {
				t.Errorf("left: %+v", st)
			}
		})
	}
}

func needBody(x *exchange.Exchange) chain.Step {
	if !x.Request.Held {
		return chain.StepNeedBody
	}
	return chain.StepDecided
}

// TestShortBody sends bodies that end early or make no sense. None passes for a whole one: not to the
// filters, not to the upstream.
func TestShortBody(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: a\r\n"
	bodies := []struct {
		name, raw string
		status    int
	}{
		{"no byte", post + "Content-Length: 5\r\n\r\n", 400},
		{"cut", post + "Content-Length: 5\r\n\r\nhell", 400},
		{"cut after much", post + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 50000), 400},
		{"cut before the first chunk", post + "Transfer-Encoding: chunked\r\n\r\n", 400},
		{"cut in a size", post + "Transfer-Encoding: chunked\r\n\r\n5", 400},
		{"cut in a chunk", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", 400},
		{"cut between chunks", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 400},
		{"cut before the last line", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", 400},
		{"cut in a trailer", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n", 400},
		{"size that is no number", post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n", 400},
		{"negative size", post + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", 400},
		{"size that overflows", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n", 400},
		{"size that ends in LF", post + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400},
		{"chunk longer than its size", post + "Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n", 400},
		{"framing in the trailer", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\nhello", 400},
	}
	for _, b := range bodies {
		for _, way := range []struct {
			name    string
			advance func(*exchange.Exchange) chain.Step
		}{{"streamed", nil}, {"held", needBody}} {
			t.Run(b.name+", "+way.name, func(t *testing.T) {
				f := &fakeChain{bodyCap: 1 << 20, advance: way.advance}
				s := start(t, f)
				c := s.dial(t)
				c.send(b.raw)
				closeWrite(t, c)
				r, body := c.answer("POST")
				if r.StatusCode != b.status {
					t.Errorf("status %d: %s", r.StatusCode, body)
				}
				checkProblem(t, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"), body, b.status)
				c.closed()
				started, ended, forwarded := f.counts()
				if started != ended {
					t.Errorf("%d started, %d ended", started, ended)
				}
				if way.advance != nil && forwarded > 0 {
					t.Error("a body that was not whole came past a filter that needs it")
				}
				if forwarded > 0 && f.last().bodyErr == nil {
					t.Error("the upstream was given the body as a whole one")
				}
			})
		}
	}
}

// TestBodyAboveBound sends more in chunks than any route allows.
func TestBodyAboveBound(t *testing.T) {
	f := &fakeChain{}
	c := start(t, f).dial(t)
	c.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"
	c.send(strings.Repeat(chunk, 17))
	r, _ := c.answer("POST")
	if r.StatusCode != 413 || !r.Close {
		t.Errorf("status %d, close %v", r.StatusCode, r.Close)
	}
}

// TestPipelined sends requests without waiting: each is answered in order, and none gets bytes of another.
func TestPipelined(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		got := look(x)
		if x.Request.Stream != nil {
			b := make([]byte, x.Request.Length)
			x.Request.Stream.Read(b[:1]) //nolint:errcheck // the rest is left on purpose
		}
		respond(x, 200, got.path)
		return nil
	}}
	c := start(t, f).dial(t)
	c.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 42\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.example\r\n\r\n" +
		"GET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, want := range []string{"/1", "/2", "/3"} {
		if _, body := c.answer("GET"); body != want {
			t.Fatalf("%q, want %q", body, want)
		}
	}
}
