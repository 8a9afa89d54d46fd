package edge

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/porchedge/porch/host/edge/route"
)

// benchmark sends one request after the other over one connection, with as little client as possible.
func benchmark(b *testing.B, f Chain) {
	table, err := NewTable([]Route{{Name: "all", Rule: route.Rule{Path: "/"}, Chain: f}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := New(Config{Server: serverConfig(), Logger: slog.New(slog.DiscardHandler)}, table)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error)
	// Stops at the Shutdown below, which waits for it.
	go func() { ended <- s.Serve(ln) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	request := []byte("GET /v1/items?a=b HTTP/1.1\r\nHost: a\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	r := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	if err := s.Shutdown(b.Context()); err != nil {
		b.Error(err)
	}
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
