package edge

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/porchedge/porch/host/edge/route"
)

// pipes is a listener in memory, so that a server runs under fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSlowClient has clients that send slower than the minimum rate, or nothing: they are told so where
// an answer can be given, and lose their connection. A slow one above the rate is served.
func TestSlowClient(t *testing.T) {
	warmUp(t)
	const idle = 20 * time.Second // of serverConfig; the minimum rate is 1 KiB/s
	const post = "POST / HTTP/1.1\r\nHost: a\r\n"
	tests := []struct {
		name   string
		pieces []string
		every  time.Duration
		status int // 0 for no answer
	}{
		{"nothing", nil, 0, 0},
		{"head that stops", []string{"GET / HT"}, 0, 408},
		{"head that trickles", []string{"GET / HTTP/1.1\r\n", "Host: a\r\n", "X: 1\r\n", "Y: 1\r\n"}, 9 * time.Second, 408},
		{"body that does not come", []string{post + "Content-Length: 5\r\n\r\n"}, 0, 408},
		{"body that stops", []string{post + "Content-Length: 5\r\n\r\nhe"}, 0, 408},
		{"body that trickles", []string{post + "Content-Length: 50\r\n\r\nh", "e", "l", "l", "o"}, 9 * time.Second, 408},
		{"chunk that stops", []string{post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"}, 0, 408},
		{"chunk size that stops", []string{post + "Transfer-Encoding: chunked\r\n\r\n5"}, 0, 408},
		{"trailer that stops", []string{post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n"}, 0, 408},
		{"head that takes its time", []string{"GET / HTTP/1.1\r\n", "Host: a\r\n", "\r\n"}, 6 * time.Second, 200},
		{"body that takes its time", []string{post + "Content-Length: 5\r\n\r\nh", "e", "llo"}, 6 * time.Second, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeChain{}
				table, err := NewTable([]Route{{Name: "all", Rule: route.Rule{Path: "/"}, Chain: f}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				s := New(Config{Server: serverConfig(), Logger: slog.New(slog.DiscardHandler)}, table)
				ln := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				ended := make(chan error)
				// Stops at the Shutdown below; waited for there.
				go func() { ended <- s.Serve(ln) }()
				client, server := net.Pipe()
				ln.conns <- server

				sent := make(chan struct{})
				// Stops when all is sent or the connection is closed; waited for below.
				go func() {
					defer close(sent)
					for _, piece := range tt.pieces {
						time.Sleep(tt.every)
						if _, err := io.WriteString(client, piece); err != nil {
							return
						}
					}
				}()
				began := time.Now()
				r, err := http.ReadResponse(bufio.NewReader(client), &http.Request{Method: "POST"})
				took := time.Since(began)
				switch {
				case tt.status == 0 && err == nil:
					t.Errorf("status %d, want no answer", r.StatusCode)
				case tt.status != 0 && err != nil:
					t.Errorf("no answer: %v", err)
				case tt.status != 0 && r.StatusCode != tt.status:
					t.Errorf("status %d, want %d", r.StatusCode, tt.status)
				}
				if tt.status != 200 && (took < idle-idle/8 || took > 2*idle) {
					t.Errorf("after %v", took)
				}
				client.Close()
				<-sent
				if err := s.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if err := <-ended; err != nil {
					t.Errorf("Serve: %v", err)
				}
				if started, ended, _ := f.counts(); started != ended {
					t.Errorf("%d started, %d ended", started, ended)
				}
				time.Sleep(time.Minute) // fasthttp's cleaner of workers ends
			})
		})
	}
}

// warmUp starts fasthttp's clock for Date outside of the bubble: it runs for ever.
func warmUp(t *testing.T) {
	t.Helper()
	c := start(t, &fakeChain{}).dial(t)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	c.answer("GET")
}
