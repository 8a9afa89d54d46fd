package edge

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/host/exchange"
)

// parts is a stream that ends in err.
type parts struct {
	pieces []string
	err    error
	closed int
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, p.err
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func (p *parts) Close() error {
	p.closed++
	return nil
}

// TestResponse shows responses as they stand on the wire, but for Date.
func TestResponse(t *testing.T) {
	const get, head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
	const get10 = "GET / HTTP/1.0\r\nHost: a\r\n\r\n"
	stream := func(x *exchange.Exchange, length int64, fields ...string) {
		respondStream(x, length, &parts{pieces: []string{"hel", "lo"}, err: io.EOF}, fields...)
	}
	tests := []struct {
		name, request string
		fill          func(x *exchange.Exchange)
		want          string // the connection's end follows where it was asked for
	}{
		{"bytes", get, func(x *exchange.Exchange) { respond(x, 200, "hello") },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"no body", get, func(x *exchange.Exchange) { respond(x, 200, "") },
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"fields keep order, case and duplicates", get, func(x *exchange.Exchange) {
			respond(x, 200, "", "ETag: \"1\"", "x-b: 1", "Set-Cookie: a=1", "X-A: 2", "Set-Cookie: a=2", "x-b: 3")
		}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"1\"\r\nx-b: 1\r\nX-A: 2\r\nx-b: 3\r\nSet-Cookie: a=1\r\nSet-Cookie: a=2\r\n\r\n"},
		{"fields that this server sets itself", get, func(x *exchange.Exchange) {
			respond(x, 200, "hello", "Connection: X-Mine", "X-Mine: 1", "Keep-Alive: 5", "Transfer-Encoding: gzip", "Content-Length: 7",
				"Date: Mon, 01 Jan 2001 00:00:00 GMT", "Trailer: X", "Upgrade: h2c")
		}, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"a Server that the upstream sent", get, func(x *exchange.Exchange) { respond(x, 200, "", "Server: s", "Content-Type: t/t") },
			"HTTP/1.1 200 OK\r\nServer: s\r\nContent-Type: t/t\r\nContent-Length: 0\r\n\r\n"},
		{"unusual status", get, func(x *exchange.Exchange) { respond(x, 299, "") },
			"HTTP/1.1 299 Unknown Status Code\r\nContent-Length: 0\r\n\r\n"},
		{"no content", get, func(x *exchange.Exchange) { respond(x, 204, "x", "ETag: e", "Content-Length: 1") },
			"HTTP/1.1 204 No Content\r\nETag: e\r\n\r\n"},
		{"not modified", get, func(x *exchange.Exchange) { respond(x, 304, "", "ETag: e", "Content-Length: 7") },
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: e\r\n\r\n"},
		{"head keeps the length", head, func(x *exchange.Exchange) { respond(x, 200, "", "Content-Length: 7") },
			"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"},
		{"head without a length", head, func(x *exchange.Exchange) { respond(x, 200, "") }, "HTTP/1.1 200 OK\r\n\r\n"},
		{"head of an own answer", head, func(x *exchange.Exchange) { respond(x, 200, "hello") }, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		{"head of a stream", head, func(x *exchange.Exchange) { stream(x, -1) }, "HTTP/1.1 200 OK\r\n\r\n"},
		{"stream of a length", get, func(x *exchange.Exchange) { stream(x, 5) },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"empty stream", get, func(x *exchange.Exchange) { respondStream(x, 0, &parts{err: io.EOF}) },
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"stream of unknown length", get, func(x *exchange.Exchange) { stream(x, -1) },
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"},
		{"trailer", get, func(x *exchange.Exchange) {
			stream(x, -1, "X-Sum: before", "Trailer: X-Sum")
			x.Response.Body.Trailer = func() []exchange.Field {
				return []exchange.Field{{Name: []byte("X-Sum"), Value: []byte("1")}, {Name: []byte("Content-Length"), Value: []byte("9")}}
			}
		}, "HTTP/1.1 200 OK\r\nX-Sum: before\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n"},
		{"1.0", get10, func(x *exchange.Exchange) { respond(x, 200, "hello") },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"},
		{"1.0 that stays", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", func(x *exchange.Exchange) { respond(x, 200, "hello") },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"},
		{"1.0 stream of a length", get10, func(x *exchange.Exchange) { stream(x, 5) },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"},
		{"1.0 stream of unknown length", get10, func(x *exchange.Exchange) { stream(x, -1, "X: y") },
			"HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\nhello"},
		{"asked to close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", func(x *exchange.Exchange) { respond(x, 200, "hello") },
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body *parts
			f := &fakeChain{finish: func(x *exchange.Exchange) error {
				tt.fill(x)
				body, _ = x.Response.Body.Stream.(*parts)
				return nil
			}}
			s := start(t, f)
			c := s.dial(t)
			c.send(tt.request)
			got := make([]byte, len(tt.want)+len("Date: Mon, 01 Jan 2001 00:00:00 GMT\r\n"))
			if _, err := io.ReadFull(c.r, got); err != nil {
				t.Fatalf("%v after %q", err, got)
			}
			if raw := withoutDate(t, string(got)); raw != tt.want {
				t.Fatalf("\n%q, want\n%q", raw, tt.want)
			}
			if strings.Contains(tt.want, "Connection: close") {
				c.closed()
			}
			<-s.done
			if started, ended, _ := f.counts(); started != 1 || ended != 1 {
				t.Errorf("%d started, %d ended", started, ended)
			}
			if body != nil && body.closed != 1 {
				t.Errorf("the stream was closed %d times", body.closed)
			}
		})
	}
}

// withoutDate takes the Date field out of a response, which must be of today.
func withoutDate(t *testing.T, raw string) string {
	t.Helper()
	before, rest, found := strings.Cut(raw, "Date: ")
	date, after, _ := strings.Cut(rest, "\r\n")
	at, err := http.ParseTime(date)
	if !found || err != nil || strings.Contains(after, "Date: ") {
		t.Fatalf("no Date, or two: %q", raw)
	}
	if off := time.Since(at); off > time.Hour || off < -time.Hour {
		t.Fatalf("Date %q is not fresh", date)
	}
	return before + after
}

// TestBrokenOff has the upstream die in the middle of its response: the client's connection ends without
// what would make the response look whole.
func TestBrokenOff(t *testing.T) {
	errDied := errors.New("upstream died")
	panics := &panicking{parts: parts{pieces: []string{"hel"}}}
	tests := []struct {
		name, version string
		length        int64
		stream        io.ReadCloser
	}{
		{"of a length", "1.1", 5, &parts{pieces: []string{"hel"}, err: errDied}},
		{"of unknown length", "1.1", -1, &parts{pieces: []string{"hel"}, err: errDied}},
		{"of unknown length, 1.0", "1.0", -1, &parts{pieces: []string{"hel"}, err: errDied}},
		{"ends before its length", "1.1", 5, &parts{pieces: []string{"hel"}, err: io.EOF}},
		{"panics", "1.1", -1, panics},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeChain{finish: func(x *exchange.Exchange) error {
				respondStream(x, tt.length, tt.stream)
				return nil
			}}
			s := start(t, f)
			c := s.dial(t)
			c.send("GET / HTTP/" + tt.version + "\r\nHost: a\r\n\r\n")
			raw, err := io.ReadAll(c.r)
			if err == nil {
				t.Errorf("the connection ended as if all was well, after %q", raw)
			}
			if strings.Contains(string(raw), "died") || strings.HasSuffix(string(raw), "0\r\n\r\n") {
				t.Errorf("%q", raw)
			}
			<-s.done
			if started, ended, _ := f.counts(); started != 1 || ended != 1 {
				t.Errorf("%d started, %d ended", started, ended)
			}
		})
	}
}

// panicking panics where its parts end.
type panicking struct{ parts }

func (p *panicking) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		panic("upstream")
	}
	return p.parts.Read(b)
}

// TestNoResponse has the store die under a response: not one byte of it leaves.
func TestNoResponse(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		respond(x, 200, "hello")
		return errors.New("the store is dead")
	}}
	s := start(t, f)
	c := s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if raw, _ := io.ReadAll(c.r); len(raw) > 0 {
		t.Errorf("%q", raw)
	}
	if got := <-s.done; got.status != 0 {
		t.Errorf("observed status %d", got.status)
	}
	if _, ended, _ := f.counts(); ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}

// TestPanic has the chain panic: the client gets a problem document that tells nothing of it, and the
// server goes on.
func TestPanic(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		if string(x.Request.Path) == "/ok" {
			respond(x, 200, "ok")
			return nil
		}
		respondStream(x, 5, &parts{err: io.EOF})
		panic("secret")
	}}
	s := start(t, f)
	c := s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	r, body := c.answer("GET")
	checkProblem(t, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"), body, 500)
	if strings.Contains(body, "secret") {
		t.Errorf("%s", body)
	}
	c.send("GET /ok HTTP/1.1\r\nHost: a\r\n\r\n")
	if r, _ := c.answer("GET"); r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
	if started, ended, _ := f.counts(); started != 2 || ended != 2 {
		t.Errorf("%d started, %d ended", started, ended)
	}
}

// TestEventsAtOnce has each piece of a stream reach the client before the next one is there, the head
// before the first.
func TestEventsAtOnce(t *testing.T) {
	for _, version := range []string{"1.1", "1.0"} {
		t.Run(version, func(t *testing.T) {
			events, upstream := io.Pipe()
			f := &fakeChain{finish: func(x *exchange.Exchange) error {
				respondStream(x, -1, events, "Content-Type: text/event-stream")
				return nil
			}}
			c := start(t, f).dial(t)
			c.send("GET / HTTP/" + version + "\r\nHost: a\r\n\r\n")
			r, err := http.ReadResponse(c.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range []string{"data: 1\n\n", "data: 2\n\n"} {
				if _, err := io.WriteString(upstream, event); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, len(event))
				if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != event {
					t.Fatalf("%q, %v", got, err)
				}
			}
			upstream.Close()
			if rest, err := io.ReadAll(r.Body); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
}

// TestClientLeavesDuringStream has the client close while its response is streamed: the exchange ends.
func TestClientLeavesDuringStream(t *testing.T) {
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		respondStream(x, -1, endless{})
		return nil
	}}
	s := start(t, f)
	c := s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, err := c.r.ReadByte(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-s.done
	if _, ended, _ := f.counts(); ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
func (endless) Close() error               { return nil }
