package upstream

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/porchedge/porch/host/exchange"
)

// clientBody is a body that a test feeds. A Read waits for the test or for Interrupt, with patience.
type clientBody struct {
	pieces      chan string // closed at the end of the body
	interrupted chan struct{}
	once        sync.Once
	fail        error // at the end, instead of io.EOF
}

func newClientBody() *clientBody {
	return &clientBody{pieces: make(chan string), interrupted: make(chan struct{})}
}

func (b *clientBody) Read(p []byte) (int, error) {
	select {
	case piece, ok := <-b.pieces:
		if ok {
			return copy(p, piece), nil
		}
		if b.fail != nil {
			return 0, b.fail
		}
		return 0, io.EOF
	case <-b.interrupted:
		return 0, errors.New("interrupted")
	case <-time.After(patient):
		return 0, errors.New("forgotten")
	}
}

// say gives one Read its bytes.
func (b *clientBody) say(t *testing.T, piece string) {
	t.Helper()
	select {
	case b.pieces <- piece:
	case <-b.interrupted:
		t.Error("the client was interrupted")
	case <-time.After(patient):
		t.Error("nobody reads the client's body")
	}
}

func (b *clientBody) Interrupt() { b.once.Do(func() { close(b.interrupted) }) }

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestBodiesArriveWhole(t *testing.T) {
	small, large := "small", strings.Repeat("0123456789abcdef", 1<<16)
	for _, test := range []struct {
		name string
		x    *exchange.Exchange
		want string
	}{
		{"small and held", post(small), small},
		{"large and held", post(large), large},
		{"stream", put(strings.NewReader(large), int64(len(large))), large},
		{"stream in small reads", put(iotest.HalfReader(strings.NewReader(large)), int64(len(large))), large},
		{"chunks", put(strings.NewReader(large), -1), large},
		{"chunks of one byte", put(iotest.OneByteReader(strings.NewReader(small)), -1), small},
		{"no bytes in chunks", put(strings.NewReader(""), -1), ""},
		{"data with its end", put(iotest.DataErrReader(strings.NewReader(large)), -1), large},
		{"a stream of no bytes", put(strings.NewReader(""), 0), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := dial(t, listen(t, echo))
			if got := forward(t, u, test.x); got != test.want {
				t.Errorf("%d bytes came back: %.20q", len(got), got)
			}
			if s := u.Stats(); s.Idle != 1 || s.Early != 0 {
				t.Errorf("connections %+v", s)
			}
		})
	}
}

// echo answers each request with its body.
func echo(p *peer, _ int) {
	for {
		request := p.request()
		if request == "" {
			return
		}
		_, body, _ := strings.Cut(request, "\r\n\r\n")
		p.say("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	}
}

func chunkText(body string) []byte {
	piece := append(make([]byte, sizeRoom), body...)
	return chunkOf(append(piece, 0, 0), len(body))
}

func TestChunkOf(t *testing.T) {
	for _, n := range []int{1, 15, 16, 4096, pieceSize} {
		body := strings.Repeat("x", n)
		got := chunkText(body)
		size, rest, _ := bytes.Cut(got, []byte("\r\n"))
		if parsed, ok := parseChunkSize(size); !ok || parsed != int64(n) || string(rest) != body+"\r\n" {
			t.Errorf("%d bytes became the chunk %.20q", n, got)
		}
	}
}

// A request whose client failed half way must not look whole to the upstream.
func TestAClientThatFails(t *testing.T) {
	for _, test := range []struct {
		name string
		body io.Reader
		size int64
		want error
	}{
		{"short of its length", strings.NewReader("hello"), 9, io.ErrUnexpectedEOF},
		{"cut short", io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(io.ErrUnexpectedEOF)), 9, io.ErrUnexpectedEOF},
		{"chunks cut short", io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(io.ErrUnexpectedEOF)), -1, io.ErrUnexpectedEOF},
		{"malformed chunks", io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(exchange.ErrBodyMalformed)), -1, exchange.ErrBodyMalformed},
		{"slow", iotest.ErrReader(exchange.ErrBodySlow), -1, exchange.ErrBodySlow},
		{"too large", io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(exchange.ErrBodyTooLarge)), -1, exchange.ErrBodyTooLarge},
		{"nothing, for ever", emptyReader{}, -1, io.ErrNoProgress},
	} {
		t.Run(test.name, func(t *testing.T) {
			received := make(chan string, 1)
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.head()
				if test.size < 0 {
					received <- p.chunks()
					return
				}
				text, _ := io.ReadAll(p.in)
				received <- string(text) + "(cut)"
			}))
			err := u.Forward(put(test.body, test.size))
			check(t, err, ClientBody, true)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := <-received; got != "hello(cut)" && got != "(cut)" {
				t.Errorf("the upstream took %q for a whole body", got)
			}
		})
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

// An upstream that answers while it is being sent to is heard, and is sent no more.
func TestAnEarlyAnswer(t *testing.T) {
	const refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
	waiting := newClientBody()
	for _, test := range []struct {
		name  string
		x     *exchange.Exchange
		takes int64 // bytes of the body that the upstream reads
	}{
		{"to a stream", put(endless{}, 1<<40), 1 << 20},
		{"to chunks", put(endless{}, -1), 1 << 20},
		{"to a body that is held", post(strings.Repeat("x", 64<<20)), 1 << 10},
		{"while the client says nothing", put(waiting, -1), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := dial(t, listen(t, func(p *peer, _ int) {
				p.head()
				io.CopyN(io.Discard, p.in, test.takes)
				p.say(refusal)
				if !p.gone() {
					t.Error("the connection is still open")
				}
			}))
			if body := forward(t, u, test.x); body != "big" || test.x.Response.Status != 413 {
				t.Errorf("got %d %q", test.x.Response.Status, body)
			}
			if s := u.Stats(); s.Early != 1 || s.Open != 0 {
				t.Errorf("connections %+v", s)
			}
		})
	}
}

// The same, where the upstream closes at once, so that writing to it fails.
func TestAnEarlyAnswerAndAClosedConnection(t *testing.T) {
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.head()
		io.CopyN(io.Discard, p.in, 1<<20)
		p.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
	}))
	for range 20 {
		x := put(endless{}, -1)
		if body := forward(t, u, x); body != "big" || x.Response.Status != 413 {
			t.Fatalf("got %d %q", x.Response.Status, body)
		}
	}
}

// An upstream may answer piece by piece as the request arrives.
func TestRequestAndResponseAtOnce(t *testing.T) {
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.head()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for {
			size, err := p.in.ReadString('\n')
			if err != nil {
				return
			}
			data, _ := p.in.ReadString('\n')
			p.say(size + data)
			if size == "0\r\n" {
				p.gone()
				return
			}
		}
	}))
	client := newClientBody()
	x := put(client, -1)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	room := make([]byte, 16)
	for _, piece := range []string{"one", "two", "three"} {
		client.say(t, piece)
		n, err := x.Response.Body.Stream.Read(room)
		if err != nil || string(room[:n]) != piece {
			t.Fatalf("sent %q, got %q, %v", piece, room[:n], err)
		}
	}
	close(client.pieces)
	if _, err := x.Response.Body.Stream.Read(room); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
	x.Response.Close()
	if s := u.Stats(); s.Idle != 1 || s.Early != 0 {
		t.Errorf("connections %+v", s)
	}
}

// A client that fails while its response streams ends both.
func TestAClientThatFailsDuringTheResponse(t *testing.T) {
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.head()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		if got := p.chunks(); got != "half(cut)" {
			t.Errorf("the upstream took %q for a whole body", got)
		}
	}))
	client := newClientBody()
	client.fail = io.ErrUnexpectedEOF
	x := put(client, -1)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	client.say(t, "half")
	close(client.pieces)
	body, err := bodyOf(x)
	if body != "hello" {
		t.Errorf("body %q", body)
	}
	check(t, err, ClientBody, true)
}

// A response that is given up while its request is still being sent ends the request.
func TestAResponseThatIsClosedDuringTheRequest(t *testing.T) {
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.head()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		p.gone()
	}))
	client := newClientBody()
	x := put(client, -1)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	x.Response.Close()
	select {
	case <-client.interrupted:
	default:
		t.Error("the client's body is still being read")
	}
}
