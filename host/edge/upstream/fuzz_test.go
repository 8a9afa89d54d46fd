package upstream

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/porchedge/porch/host/exchange"
)

// tape is a connection that has received text and nothing after it.
type tape struct {
	net.Conn
	*bytes.Reader
}

func (t tape) Read(p []byte) (int, error)      { return t.Reader.Read(p) }
func (t tape) SetReadDeadline(time.Time) error { return nil }

// receiveText reads text as the response to a GET.
func receiveText(text []byte) (x *exchange.Exchange, body []byte, err error) {
	ended := func() {}
	c := &conn{
		Conn: tape{Reader: bytes.NewReader(text)}, target: &target{ctx: context.Background()},
		giveBack: ended, drop: ended,
	}
	x = get()
	s := sending{upstream: &Upstream{timeout: time.Second}, conn: c, x: x, sent: true}
	if err := s.receive(); err != nil {
		return x, nil, err
	}
	whole, err := bodyOf(x)
	return x, []byte(whole), err
}

// A response that we take whole means the same to another implementation, which is laxer than ours.
func FuzzResponse(f *testing.F) {
	for _, text := range []string{
		hello,
		"HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 \r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: \xff\t\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nuntil close",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, body, err := receiveText(text)
		if err != nil {
			return
		}
		in := bufio.NewReader(bytes.NewReader(text))
		var other *http.Response
		for other == nil || other.StatusCode < 200 {
			if other, err = http.ReadResponse(in, &http.Request{Method: "GET"}); err != nil {
				t.Fatalf("we took %q, net/http says %v", text, err)
			}
		}
		want, err := io.ReadAll(other.Body)
		if err != nil || other.StatusCode != x.Response.Status || !bytes.Equal(want, body) {
			t.Fatalf("%q: we have %d %q, net/http has %d %q, %v", text, x.Response.Status, body, other.StatusCode, want, err)
		}
		for _, f := range x.Response.Header.Fields {
			if !isToken(f.Name) || !clean(f.Value) {
				t.Fatalf("%q: field %q: %q", text, f.Name, f.Value)
			}
		}
	})
}
