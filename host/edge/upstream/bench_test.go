//go:build !race

package upstream

import (
	"net"
	"testing"

	"github.com/porchedge/porch/host/exchange"
	"github.com/valyala/fasthttp"
)

// lean answers whatever arrives in one piece, and allocates nothing for it.
func lean(p *peer, _ int) {
	var room [4 << 10]byte
	answer := []byte(hello)
	for {
		if _, err := p.Read(room[:]); err != nil {
			return
		}
		p.Write(answer)
	}
}

var benchFields = []exchange.Field{
	{Name: []byte("User-Agent"), Value: []byte("bench")},
	{Name: []byte("Accept"), Value: []byte("*/*")},
}

// renew makes x ready to be forwarded again.
func renew(x *exchange.Exchange) {
	x.Response.Close()
	x.Response.Header.Reset()
	x.Request.Header.Fields = append(x.Request.Header.Fields[:0], benchFields...)
}

// The one allocation is the memory of the response: its fields and its body.
func TestForwardAllocatesOnce(t *testing.T) {
	u := dial(t, listen(t, lean))
	for name, x := range map[string]*exchange.Exchange{"no body": get(), "a small body": post("hello")} {
		if n := testing.AllocsPerRun(200, func() {
			renew(x)
			if err := u.Forward(x); err != nil {
				t.Fatal(err)
			}
		}); n != 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkForward(b *testing.B) {
	for name, x := range map[string]*exchange.Exchange{"no body": get(), "small body": post("hello")} {
		b.Run(name, func(b *testing.B) {
			u := dial(b, listen(b, lean))
			b.ReportAllocs()
			for b.Loop() {
				renew(x)
				if err := u.Forward(x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHostClient is fasthttp's own client before the same server, to compare with.
func BenchmarkHostClient(b *testing.B) {
	client := &fasthttp.HostClient{
		Addr: listen(b, lean)[len("http://"):],
		Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) },
	}
	defer client.CloseIdleConnections()
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	request.SetRequestURI("http://example.com/")
	b.ReportAllocs()
	for b.Loop() {
		if err := client.Do(request, response); err != nil {
			b.Fatal(err)
		}
	}
}
