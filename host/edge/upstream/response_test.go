package upstream

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, test := range []struct {
		name, method, response string
		status                 int
		fields, body           string
		keeps                  bool // the connection
	}{
		{"fixed length", "GET", hello, 200, "", "hello", true},
		{"no reason", "GET", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404, "", "", true},
		{
			"fields in order, several of a name, as written", "GET",
			ok + "set-cookie: a\r\nX-1:  padded \t\r\nSet-Cookie: b\r\nX-Empty:\r\nX-2: \xfc\r\nContent-Length: 0\r\n\r\n",
			200, "set-cookie: a; X-1: padded; Set-Cookie: b; X-Empty: ; X-2: \xfc", "", true,
		},
		{
			"hop-by-hop fields end here", "GET",
			ok + "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n",
			200, "X-A: 1", "", true,
		},
		{"the same length twice", "GET", ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", 200, "", "hi", true},
		{"chunked", "GET", ok + "Transfer-Encoding: Chunked\r\n\r\n3\r\nhel\r\n2 ;x=\"y\"\r\nlo\r\n0\r\n\r\n", 200, "", "hello", true},
		{"until close", "GET", ok + "\r\nhello", 200, "", "hello", false},
		{"closes", "GET", ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", 200, "", "hello", false},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "", "hello", false},
		{"HTTP/1.0 that stays", "GET", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello", 200, "", "hello", true},
		{"HEAD", "HEAD", ok + "Content-Length: 5\r\n\r\n", 200, "Content-Length: 5", "", true},
		{"HEAD, chunked", "HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", 200, "", "", true},
		{"204", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nX-A: 1\r\n\r\n", 204, "X-A: 1", "", true},
		{"304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n", 304, "Content-Length: 5; ETag: x", "", true},
		{
			"interim responses", "GET",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + hello, 200, "", "hello", true,
		},
		{"a body for HEAD", "HEAD", hello, 200, "Content-Length: 5", "", false},
		{"more than its length", "GET", hello + "HTTP/1.1 200 OK\r\n", 200, "", "hello", false},
		{"more after the last chunk", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", 200, "", "", false},
		{"a head of many reads", "GET", ok + "X-A: " + strings.Repeat("a", 60<<10) + "\r\nContent-Length: 2\r\n\r\nhi", 200, "X-A: " + strings.Repeat("a", 60<<10), "hi", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.request()
				p.say(test.response)
				if test.keeps {
					p.gone()
				}
			}))
			x := get()
			x.Request.Method = test.method
			if body := forward(t, u, x); body != test.body {
				t.Errorf("body %q, want %q", body, test.body)
			}
			if x.Response.Status != test.status || fieldsOf(x.Response.Header.Fields) != test.fields {
				t.Errorf("got %d %q, want %d %q", x.Response.Status, fieldsOf(x.Response.Header.Fields), test.status, test.fields)
			}
			if s := u.Stats(); s.Idle == 1 != test.keeps || s.Open != s.Idle {
				t.Errorf("connections %+v, want kept %v", s, test.keeps)
			}
		})
	}
}

// What could be read in two ways, or not at all, is no response.
func TestResponsesThatAreRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, response := range map[string]string{
		"length and chunks":                  ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks and length":                  ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"two lengths":                        ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"a list of lengths":                  ok + "Content-Length: 5, 5\r\n\r\nhello",
		"a signed length":                    ok + "Content-Length: +5\r\n\r\nhello",
		"a hexadecimal length":               ok + "Content-Length: 0x5\r\n\r\nhello",
		"an empty length":                    ok + "Content-Length:\r\n\r\nhello",
		"a length beyond all bounds":         ok + "Content-Length: 99999999999999999999\r\n\r\nhello",
		"another coding":                     ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"identity":                           ok + "Transfer-Encoding: identity\r\n\r\nhello",
		"chunked twice":                      ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunked with a vertical tab":        ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"chunks in HTTP/1.0":                 "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a space before the colon":           ok + "Content-Length : 5\r\n\r\nhello",
		"a folded field":                     ok + "X-A: 1\r\n 2\r\nContent-Length: 5\r\n\r\nhello",
		"a fold first":                       ok + " X-A: 1\r\n\r\n",
		"a line without a colon":             ok + "X-A\r\n\r\n",
		"a field without a name":             ok + ": 1\r\n\r\n",
		"a NUL in a value":                   ok + "X-A: a\x00b\r\n\r\n",
		"a bare carriage return":             ok + "X-A: a\rContent-Length: 5\r\n\r\n",
		"a bare line feed":                   ok + "X-A: a\nContent-Length: 5\r\n\r\nhello",
		"a bare line feed at the end":        ok + "X-A: a\r\n\nhello",
		"a bare line feed at the start":      "\n" + hello,
		"an empty line at the start":         "\r\n" + hello,
		"HTTP/2":                             "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.2":                           "HTTP/1.2 200 OK\r\n\r\n",
		"HTTP/0.9":                           "<html>hello</html>",
		"lower case":                         "http/1.1 200 OK\r\n\r\n",
		"another protocol":                   "220 smtp ready\r\n",
		"a status of two digits":             "HTTP/1.1 20 OK\r\n\r\n",
		"a status of four digits":            "HTTP/1.1 2000 OK\r\n\r\n",
		"a status out of range":              "HTTP/1.1 600 Odd\r\n\r\n",
		"a status of letters":                "HTTP/1.1 abc OK\r\n\r\n",
		"two spaces before the status":       "HTTP/1.1  200 OK\r\n\r\n",
		"control characters in a reason":     "HTTP/1.1 200 O\x01K\r\n\r\n",
		"a protocol switch":                  "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"interim responses without end":      strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20),
		"a head too large":                   ok + "X-A: " + strings.Repeat("a", maxHead) + "\r\n\r\n",
		"a head of small fields without end": ok + strings.Repeat("X-A: a\r\n", maxHead/8+1),
	} {
		t.Run(name, func(t *testing.T) {
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.request()
				p.say(response)
				if !p.gone() {
					t.Error("the connection is still open")
				}
			}))
			refuse(t, u, get(), Nonsense, true)
		})
	}
}

func TestResponsesThatBreakOff(t *testing.T) {
	for name, response := range map[string]string{
		"before the head":    "",
		"in the status line": "HTTP/1.1 20",
		"in the fields":      "HTTP/1.1 200 OK\r\nContent-Le",
		"after an interim":   "HTTP/1.1 100 Continue\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.request()
				p.say(response)
			}))
			refuse(t, u, get(), Unreachable, true)
		})
	}
}

// A body that is cut short never ends like a whole one.
func TestBodiesThatBreakOff(t *testing.T) {
	const chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, test := range []struct {
		name, response, body string
		kind                 Kind
	}{
		{"fixed length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "hello", Unreachable},
		{"before the first chunk", chunks, "", Unreachable},
		{"in a chunk's size", chunks + "5", "", Unreachable},
		{"in a chunk", chunks + "9\r\nhello", "hello", Unreachable},
		{"after a chunk", chunks + "5\r\nhello\r\n", "hello", Unreachable},
		{"in the last chunk", chunks + "5\r\nhello\r\n0\r\n", "hello", Unreachable},
		{"in the trailer", chunks + "5\r\nhello\r\n0\r\nX-A: 1\r\n", "hello", Unreachable},
		{"a chunk longer than its size", chunks + "5\r\nhello!\r\n0\r\n\r\n", "hello", Nonsense},
		{"a size that is none", chunks + "5\r\nhello\r\nx\r\n", "hello", Nonsense},
		{"a size with a sign", chunks + "+5\r\nhello\r\n0\r\n\r\n", "", Nonsense},
		{"a size with a prefix", chunks + "0x5\r\nhello\r\n0\r\n\r\n", "", Nonsense},
		{"no size", chunks + ";x\r\nhello\r\n0\r\n\r\n", "", Nonsense},
		{"a size beyond all bounds", chunks + "ffffffffffffffff\r\nhello\r\n", "", Nonsense},
		{"a size that ends in a bare line feed", chunks + "5\nhello\r\n0\r\n\r\n", "", Nonsense},
		{"a line without end", chunks + "5;" + strings.Repeat("x", 2*maxLine), "", Nonsense},
		{"a folded trailer", chunks + "0\r\nX-A: 1\r\n 2\r\n\r\n", "", Nonsense},
		{"a trailer without end", chunks + "0\r\n" + strings.Repeat("X-A: 1\r\n", maxHead/8+1), "", Nonsense},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.request()
				p.say(test.response)
				if test.kind == Nonsense {
					p.gone()
				}
			}))
			x := get()
			if err := u.Forward(x); err != nil {
				t.Fatal(err)
			}
			body, err := bodyOf(x)
			if body != test.body {
				t.Errorf("body %q, want %q", body, test.body)
			}
			check(t, err, test.kind, true)
			if test.kind == Unreachable && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
			}
			if s := u.Stats(); s.Open != 0 {
				t.Errorf("the connection was kept: %+v", s)
			}
		})
	}
}

func TestTrailers(t *testing.T) {
	u := dial(t, listen(t, always("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"+
		"X-Sum: 1\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nHost: evil\r\nX-Sum: 2\r\n\r\n")))
	for range 2 { // the connection is fit for another request
		x := get()
		body := forward(t, u, x)
		trailer := fieldsOf(x.Response.Body.Trailer())
		if body != "hello" || trailer != "X-Sum: 1; X-Sum: 2" {
			t.Errorf("got %q and the trailer %q", body, trailer)
		}
		if head := fieldsOf(x.Response.Header.Fields); head != "Trailer: X-Sum" {
			t.Errorf("head %q", head)
		}
	}
	if s := u.Stats(); s.Dials != 1 {
		t.Errorf("%d connections for two requests", s.Dials)
	}
}

// A short body that came with its head costs no stream and no time: the connection is back at once.
func TestAShortBodyIsWhole(t *testing.T) {
	u := dial(t, listen(t, always(hello)))
	x := get()
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	if x.Response.Body.Stream != nil || string(x.Response.Body.Bytes) != "hello" || u.Stats().Idle != 1 {
		t.Errorf("body %+v, connections %+v", x.Response.Body, u.Stats())
	}
}

// A reader that knows the length stops there, without meeting the end.
func TestALongBodyIsStreamedAndItsConnectionKept(t *testing.T) {
	const size = 1 << 20
	u := dial(t, listen(t, always(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)))))
	for range 3 {
		x := get()
		if err := u.Forward(x); err != nil {
			t.Fatal(err)
		}
		b := x.Response.Body
		if b.Length != size {
			t.Fatalf("length %d", b.Length)
		}
		if n, err := io.CopyN(io.Discard, b.Stream, size); n != size || err != nil {
			t.Fatalf("read %d: %v", n, err)
		}
		for range 2 { // closing twice gives back once
			if err := b.Stream.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if s := u.Stats(); s.Idle != 1 || s.Dials != 1 {
			t.Fatalf("connections %+v", s)
		}
	}
}

// Nobody wants the rest of a body: its connection must not serve another request.
func TestABodyThatIsClosedEarlyClosesItsConnection(t *testing.T) {
	closed := make(chan bool, 1)
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.request()
		p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
		closed <- p.gone()
	}))
	x := get()
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	x.Response.Close()
	if !<-closed {
		t.Error("the connection is still open")
	}
}
