package listen

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ErrSlow is returned where the client did nothing for the idle time, or moved bytes below the minimum
// rate. It is a timeout to those who ask by net.Error.
var ErrSlow error = &slowError{}

type slowError struct{}

func (*slowError) Error() string   { return "listen: the client is too slow" }
func (*slowError) Timeout() bool   { return true }
func (*slowError) Temporary() bool { return false }

// errInterrupted is what a read gets that Interrupt ended.
var errInterrupted = errors.New("listen: read interrupted")

// The states of a connection.
const (
	waiting int32 = iota // for the first byte of a request
	serving              // a request
	retired              // closed, or about to be
)

// Conn is a client's connection. One goroutine serves it; reads may pass to another one for a while, as
// long as one happens after the other. Deadlines are its own: those that others set are ignored.
type Conn struct {
	net.Conn
	group *Group
	state atomic.Int32

	in      budget // of the goroutine that reads
	failure error  // likewise: why the last read failed
	out     budget // of the goroutine that writes

	mu struct {
		sync.Mutex
		readBy, writeBy time.Time // the deadlines that are set
		interrupted     bool
	}
	silent atomic.Bool // nothing more is written
	close  sync.Once
}

func newConn(raw net.Conn, g *Group) *Conn { return &Conn{Conn: raw, group: g} }

// Begin notes that the first byte of a request has come. It is false where the connection was closed at
// that moment: the request must then not be served, since nobody would learn what became of it.
func (c *Conn) Begin() bool {
	c.in.waited = 0
	return c.state.CompareAndSwap(waiting, serving)
}

// Serving is true from Begin to Await, unless the connection was aborted.
func (c *Conn) Serving() bool { return c.state.Load() == serving }

// Await notes that a request has ended and that the connection waits for the next.
func (c *Conn) Await() {
	c.in, c.out = budget{}, budget{}
	if c.state.CompareAndSwap(serving, waiting) && c.group.Draining() {
		c.retire()
	}
}

// retire closes the connection if it waits for a request.
func (c *Conn) retire() {
	if c.state.CompareAndSwap(waiting, retired) {
		c.end(c.Conn.Close)
	}
}

// Failure is why the last read failed: ErrSlow, io.EOF where the client has sent its last byte, another
// error of the connection; nil if reads succeed.
func (c *Conn) Failure() error { return c.failure }

// Read reads within what the client is allowed.
func (c *Conn) Read(p []byte) (int, error) {
	began := time.Now()
	if err := c.allow(began, c.in.allowed(&c.group.opts), &c.mu.readBy, c.Conn.SetReadDeadline); err != nil {
		c.failure = err
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.in.spend(n, time.Since(began))
	if err != nil {
		err = c.explain(err)
		c.failure = err
	}
	return n, err
}

// maxWrite is the piece that one deadline covers, in bytes: a client that takes it below the minimum rate
// is noticed in time.
const maxWrite = 64 << 10

// Write writes within what the client is allowed.
func (c *Conn) Write(p []byte) (written int, err error) {
	for {
		if c.silent.Load() {
			return written, net.ErrClosed
		}
		piece := p[written:min(len(p), written+maxWrite)]
		began := time.Now()
		if err := c.allow(began, c.out.allowed(&c.group.opts), &c.mu.writeBy, c.Conn.SetWriteDeadline); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		c.out.spend(n, time.Since(began))
		written += n
		if err != nil {
			return written, c.explain(err)
		}
		if written == len(p) {
			return written, nil
		}
	}
}

// slack is the part of the allowed time by which a deadline may be early: setting one costs as much as a
// small read, and most reads are of requests that come one after the other.
const slack = 16

func (c *Conn) allow(now time.Time, d time.Duration, set *time.Time, deadline func(time.Time) error) error {
	if d <= 0 {
		return ErrSlow
	}
	by := now.Add(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.interrupted && set == &c.mu.readBy {
		return errInterrupted
	}
	if early := by.Sub(*set); early >= 0 && early < d/slack {
		return nil
	}
	*set = by
	return deadline(by)
}

func (c *Conn) explain(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.interrupted {
		return errInterrupted
	}
	return ErrSlow
}

// Interrupt ends a read in progress and fails every later one. The connection is of no use afterwards but
// for the rest of the response.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.interrupted = true
	c.Conn.SetReadDeadline(longAgo) //nolint:errcheck // a connection that takes no deadline is closed
}

var longAgo = time.Unix(1, 0)

// SetDeadline does nothing: the connection sets its own.
func (*Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, likewise.
func (*Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, likewise.
func (*Conn) SetWriteDeadline(time.Time) error { return nil }

var _ net.Conn = (*Conn)(nil)
