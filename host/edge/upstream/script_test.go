package upstream

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
	"go.uber.org/goleak"
)

// The pool's sweeper of fasthttp sleeps for up to the idle timeout before it notices that it may end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"))
}

const (
	patient   = 10 * time.Second      // never reached in a test that passes
	impatient = 50 * time.Millisecond // where the test is about running out of time
)

// peer is the upstream's end of one connection.
type peer struct {
	net.Conn
	in *bufio.Reader
}

// script is what an upstream does with its n-th connection, from 0. The connection is closed after it.
type script func(p *peer, n int)

// listen runs an upstream that plays script and returns its URL.
func listen(t testing.TB, play script) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var peers sync.WaitGroup
	peers.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			peers.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patient))
				play(&peer{c, bufio.NewReader(c)}, n)
			})
		}
	})
	t.Cleanup(func() { l.Close(); peers.Wait() })
	return "http://" + l.Addr().String()
}

// request reads a request, its body too, and returns it as text. It is empty when there is none.
func (p *peer) request() string {
	head := p.head()
	if head == "" {
		return ""
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
	if err != nil {
		return head + "(" + err.Error() + ")"
	}
	switch {
	case r.ContentLength > 0:
		body := make([]byte, r.ContentLength)
		n, _ := io.ReadFull(p.in, body)
		return head + string(body[:n])
	case r.ContentLength < 0:
		return head + p.chunks()
	}
	return head
}

// head reads a request's head.
func (p *peer) head() string {
	var text strings.Builder
	for {
		line, err := p.in.ReadString('\n')
		text.WriteString(line)
		if err != nil || line == "\r\n" {
			return text.String()
		}
	}
}

// chunks reads a chunked body without its framing. Where it is cut short the text ends in "(cut)".
func (p *peer) chunks() string {
	r, err := http.ReadResponse(bufio.NewReader(io.MultiReader(
		strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), p.in)), nil)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return string(text) + "(cut)"
	}
	return string(text)
}

// say writes text as it is.
func (p *peer) say(text string) { io.WriteString(p, text) }

// gone waits until the other side has closed the connection, and says whether it did.
func (p *peer) gone() bool {
	_, err := io.Copy(io.Discard, p.in)
	var network net.Error
	return !errors.As(err, &network) || !network.Timeout()
}

// always answers each request of each connection with the same text.
func always(text string) script {
	return func(p *peer, _ int) {
		for p.request() != "" {
			p.say(text)
		}
	}
}

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// dial makes an upstream with patience, for one target or several.
func dial(t testing.TB, targets ...string) *Upstream {
	t.Helper()
	return dialWith(t, patient, Options{}, targets...)
}

func dialWith(t testing.TB, timeout time.Duration, o Options, targets ...string) *Upstream {
	t.Helper()
	u, err := New(config.Upstream{Name: "app", Targets: targets, Timeout: timeout}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := u.Stats().InUse; n != 0 {
			t.Errorf("%d connections are still in use", n)
		}
		u.Close()
	})
	return u
}

// get is an exchange with a GET request.
func get() *exchange.Exchange {
	return &exchange.Exchange{
		ID:   "id-1",
		Peer: netip.MustParseAddr("192.0.2.7"),
		Request: exchange.Request{
			Method: "GET", Scheme: "http", Authority: []byte("example.com"), Path: []byte("/"), Held: true,
		},
	}
}

// post is an exchange whose body is held.
func post(body string) *exchange.Exchange {
	x := get()
	x.Request.Method, x.Request.Body = "POST", []byte(body)
	return x
}

// put is an exchange whose body streams.
func put(body io.Reader, length int64) *exchange.Exchange {
	x := get()
	x.Request.Method, x.Request.Held = "PUT", false
	x.Request.Stream, x.Request.Length = body, length
	return x
}

// bodyOf reads the whole body of x's response and closes it.
func bodyOf(x *exchange.Exchange) (string, error) {
	b := &x.Response.Body
	if b.Stream == nil {
		return string(b.Bytes), nil
	}
	defer b.Stream.Close()
	text, err := io.ReadAll(b.Stream)
	return string(text), err
}

// forward expects a response with a whole body and returns the body.
func forward(t *testing.T, u *Upstream, x *exchange.Exchange) string {
	t.Helper()
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	text, err := bodyOf(x)
	if err != nil {
		t.Fatalf("after %q: %v", text, err)
	}
	return text
}

// refuse expects a failure of this kind.
func refuse(t *testing.T, u *Upstream, x *exchange.Exchange, kind Kind, sent bool) {
	t.Helper()
	check(t, u.Forward(x), kind, sent)
	if x.Response.Body.Stream != nil || len(x.Response.Header.Fields) != 0 {
		t.Error("a failed exchange holds a response")
	}
}

func check(t *testing.T, err error, kind Kind, sent bool) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if failed.Kind != kind || failed.Sent != sent {
		t.Errorf("got kind %d, sent %v (%v), want kind %d, sent %v", failed.Kind, failed.Sent, failed, kind, sent)
	}
}

// fieldsOf is a header as text.
func fieldsOf(fields []exchange.Field) string {
	var lines []string
	for _, f := range fields {
		lines = append(lines, string(f.Name)+": "+string(f.Value))
	}
	return strings.Join(lines, "; ")
}

func headerOf(text string) (h exchange.Header) {
	if text == "" {
		return h
	}
	for line := range strings.SplitSeq(text, "; ") {
		name, value, _ := strings.Cut(line, ": ")
		h.Add([]byte(name), []byte(value))
	}
	return h
}
