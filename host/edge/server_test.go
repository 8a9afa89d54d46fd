package edge

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/edge/route"
	"github.com/porchedge/porch/host/exchange"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp's clock for Date runs as long as the process, its cleaners sleep some seconds longer than
		// the server and the upstream that they belong to.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"))
}

// fakeChain stands for a route's chain. It counts what reached the upstream.
type fakeChain struct {
	advance func(x *exchange.Exchange) chain.Step // nil: nothing to decide
	finish  func(x *exchange.Exchange) error      // nil: 200 and "ok"
	bodyCap int64

	mu struct {
		sync.Mutex
		started, ended, forwarded int
		last                      seen // the last request that was forwarded
	}
}

// seen is a copy of what a chain saw of a request.
type seen struct {
	method, authority, path, query, routePath, client, id, body string
	header                                                      []string
	hasQuery, trusted, held                                     bool
	length                                                      int64
	bodyErr                                                     error
}

func (f *fakeChain) Start(x *exchange.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.started++
	x.Request.Held = x.Request.Stream == nil
}

func (f *fakeChain) Advance(x *exchange.Exchange) chain.Step {
	if f.advance == nil {
		return chain.StepDecided
	}
	return f.advance(x)
}

func (f *fakeChain) BodyCap(*exchange.Exchange) int64 { return f.bodyCap }

func (f *fakeChain) Finish(x *exchange.Exchange) error {
	if x.Response.Source != exchange.FromNone {
		return nil
	}
	f.mu.Lock()
	f.mu.forwarded++
	f.mu.Unlock()
	if f.finish != nil {
		return f.finish(x)
	}
	got := look(x)
	if !got.held && x.Request.Stream != nil {
		body, err := io.ReadAll(x.Request.Stream)
		got.body, got.bodyErr = string(body), err
	}
	f.mu.Lock()
	f.mu.last = got
	f.mu.Unlock()
	if got.bodyErr != nil {
		problem.Fill(x, chain.BodyProblem(got.bodyErr))
		return nil
	}
	respond(x, 200, "ok")
	return nil
}

func (f *fakeChain) End(*exchange.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.ended++
}

// counts returns how many exchanges started, ended and reached the upstream.
func (f *fakeChain) counts() (started, ended, forwarded int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.started, f.mu.ended, f.mu.forwarded
}

func (f *fakeChain) last() seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.last
}

func look(x *exchange.Exchange) seen {
	r := &x.Request
	s := seen{
		method: r.Method, authority: string(r.Authority), path: string(r.Path), query: string(r.Query),
		routePath: string(r.RoutePath), client: x.Client.String(), id: x.ID, body: string(r.Body),
		hasQuery: r.HasQuery, trusted: x.PeerTrusted, held: r.Held, length: r.Length,
	}
	for _, f := range r.Header.Fields {
		s.header = append(s.header, string(f.Name)+": "+string(f.Value))
	}
	return s
}

func respond(x *exchange.Exchange, status int, body string, fields ...string) {
	x.Response.Status = status
	x.Response.Source = exchange.FromUpstream
	x.Response.Body = exchange.Body{Bytes: []byte(body)}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		x.Response.Header.Add([]byte(name), []byte(value))
	}
}

func respondStream(x *exchange.Exchange, length int64, stream io.ReadCloser, fields ...string) {
	respond(x, 200, "", fields...)
	x.Response.Body = exchange.Body{Stream: stream, Length: length}
}

// served is what the observer was told.
type served struct {
	route  string
	status int
}

// recorder has room for every request of a test.
type recorder chan served

func (r recorder) Served(route string, status int, _ time.Duration) { r <- served{route, status} }

// testServer is a server on a port of its own, with one route that takes everything.
type testServer struct {
	*Server
	addr  string
	table *Table
	done  recorder
	ended chan error
}

func serverConfig() config.Server {
	return config.Server{
		MaxHead: 8 << 10, MaxBody: 1 << 20, MaxConnections: 64, IdleTimeout: 20 * time.Second, MinRate: 1 << 10,
	}
}

func start(t *testing.T, f Chain, change ...func(*config.Server)) *testServer {
	t.Helper()
	cfg := serverConfig()
	for _, c := range change {
		c(&cfg)
	}
	table, err := NewTable([]Route{{Name: "all", Rule: route.Rule{Path: "/"}, Chain: f}},
		[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{
		addr: ln.Addr().String(), table: table, done: make(recorder, 1<<14), ended: make(chan error, 1),
	}
	s.Server = New(Config{Server: cfg, Logger: slog.New(slog.DiscardHandler), Observer: s.done}, table)
	// Stops when the cleanup below shuts the server down, which waits for it.
	go func() { s.ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(ctx) //nolint:errcheck // whatever is left is reset
		if err := <-s.ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		<-s.conns.Done()
	})
	return s
}

// patience bounds every wait of a test that has gone wrong.
const patience = 30 * time.Second

func (s *testServer) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // a test that hangs is stopped by its own timeout
	t.Cleanup(func() { c.Close() })
	return &client{t: t, Conn: c, r: bufio.NewReader(c)}
}

// client is the other end of a connection, in raw bytes.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (c *client) send(raw string) {
	c.t.Helper()
	c.write([]byte(raw))
}

func (c *client) write(raw []byte) {
	c.t.Helper()
	if _, err := c.Conn.Write(raw); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads a response to a request of the method, with its body.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("response body: %v", err)
	}
	return r, string(body)
}

// discard reads a response and counts the bytes of its body.
func (c *client) discard() int64 {
	c.t.Helper()
	r, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		c.t.Errorf("after %d bytes: %v", n, err)
	}
	return n
}

// closed fails unless the server has ended the connection cleanly, with nothing more.
func (c *client) closed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil || len(rest) > 0 {
		c.t.Fatalf("after the response: %q, %v; want the end", rest, err)
	}
}

// closeWrite ends what the client sends.
func closeWrite(t *testing.T, c *client) {
	t.Helper()
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}
