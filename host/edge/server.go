// Package edge is everything between a client's socket and the chain of a route: it reads heads and
// refuses what is ambiguous, chooses the route, holds a body where a filter needs it, and writes the
// response. Package host builds it from a configuration and swaps its table when that changes. It keeps
// nothing that must survive a crash: a client that got no whole response has to ask again.
package edge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/edge/head"
	"github.com/porchedge/porch/host/edge/listen"
	"github.com/porchedge/porch/host/edge/problem"
)

// ErrAborted is returned by Shutdown when connections had to be reset.
var ErrAborted = errors.New("edge: shut down before every request had ended")

// Observer is told about each request that has ended. route is the name of the route, "" where none was
// chosen; status is the response's, 0 where the connection was closed without one. The time is from the
// head to the end of the response. It is called from many goroutines.
type Observer interface {
	Served(route string, status int, took time.Duration)
}

// Config is what New needs.
type Config struct {
	Server   config.Server
	Logger   *slog.Logger
	Observer Observer // may be nil
}

// Server serves HTTP/1.1 and 1.0.
type Server struct {
	cfg    Config
	log    *slog.Logger
	limits head.Limits
	table  atomic.Pointer[Table]
	conns  *listen.Group
	fast   *fasthttp.Server
	again  chan struct{} // closed by the second Shutdown
	stops  atomic.Int32  // calls of Shutdown
	load   load
}

// Limits of the server that have no name in the configuration.
const (
	maxFields = 128 // field lines of a request
	// writeBuffer lets a small response leave in one write, in bytes.
	writeBuffer = 16 << 10
)

// New makes a server. With a nil table every request is answered with 503 until Swap brings one.
func New(cfg Config, t *Table) *Server {
	s := &Server{
		cfg:    cfg,
		log:    cfg.Logger,
		limits: head.Limits{Fields: maxFields, Body: cfg.Server.MaxBody},
		again:  make(chan struct{}),
	}
	s.table.Store(t)
	s.conns = listen.NewGroup(listen.Options{
		Idle:    cfg.Server.IdleTimeout,
		MinRate: cfg.Server.MinRate,
		Max:     cfg.Server.MaxConnections,
		Full:    fullResponse(),
	})
	s.fast = &fasthttp.Server{
		Handler:        s.serve,
		HeaderReceived: s.headReceived,
		ExpectHandler:  s.expect,
		ErrorHandler:   s.unreadable,
		ConnState:      connState,
		Logger:         quiet{cfg.Logger},
		ReadBufferSize: cfg.Server.MaxHead,
		// Connections are counted and bounded by the group; a worker outlives its connection a moment.
		Concurrency:     2 * cfg.Server.MaxConnections,
		WriteBufferSize: writeBuffer,
		// The body is a stream, of which one byte is read ahead: the handler starts when it begins.
		StreamRequestBody:            true,
		MaxRequestBodySize:           1,
		DisablePreParseMultipartForm: true,
		// Each response is flushed by itself, and a connection that waits holds no write buffer.
		ReduceMemoryUsage:     true,
		LazyRequestTime:       true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		SecureErrorLogMessage: true,
	}
	return s
}

// Serve serves the connections of ln until Shutdown; it then returns nil. It may run for several
// listeners at once.
func (s *Server) Serve(ln net.Listener) error {
	return s.fast.Serve(s.conns.Listen(ln))
}

// Swap puts a table into service and returns the one before. Requests in flight end on the table that
// they began with: the old one's resources may be closed when it is Drained.
func (s *Server) Swap(t *Table) (old *Table) {
	old = s.table.Swap(t)
	old.retire()
	return old
}

// Shutdown stops listening, lets every request in flight end, and returns nil when the last connection is
// closed. When ctx ends, or when Shutdown is called a second time, it resets the connections that are left
// and returns ErrAborted at once; their requests may still run, until their chains return (Stats counts
// them).
func (s *Server) Shutdown(ctx context.Context) error {
	calls := s.stops.Add(1)
	s.conns.Drain()
	if calls > 1 {
		return s.cutShort(calls == 2)
	}
	select {
	case <-s.conns.Done():
		select {
		case <-s.again: // they are closed because they were reset
			return ErrAborted
		default:
			return nil
		}
	case <-ctx.Done():
	case <-s.again:
	}
	s.conns.Abort()
	return ErrAborted
}

// cutShort resets the connections that are left, if any are. The first to do so tells the Shutdown that waits.
func (s *Server) cutShort(first bool) error {
	select {
	case <-s.conns.Done():
		return nil
	default:
	}
	if first {
		close(s.again)
	}
	s.conns.Abort()
	return ErrAborted
}

func connState(c net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		c.(*listen.Conn).Begin()
	case fasthttp.StateIdle:
		c.(*listen.Conn).Await()
	}
}

// quiet keeps what fasthttp would log: its messages carry addresses and parts of requests.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, _ ...any) {
	q.log.Debug("a connection ended badly", slog.String("event", format))
}

// fullResponse is the whole response for a connection above the bound.
func fullResponse() []byte {
	p := problem.Unavailable("as many connections are open as this server allows")
	doc := problem.JSON(p, "")
	out := []byte("HTTP/1.1 503 " + http.StatusText(http.StatusServiceUnavailable) + "\r\nConnection: close\r\nContent-Type: " +
		problem.MediaType + "\r\nCache-Control: no-store\r\nRetry-After: " + strconv.Itoa(p.RetryAfter) +
		"\r\nContent-Length: " + strconv.Itoa(len(doc)) + "\r\n\r\n")
	return append(out, doc...)
}
