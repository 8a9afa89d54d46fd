package upstream

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conn is one connection to a target. Whoever acquired it owns it, until exactly one of release and
// discard.
type conn struct {
	net.Conn
	target *target
	// raw is the TCP connection itself: under TLS it is the one below, since bytes that wait there are
	// what a stale connection has in common.
	raw syscall.RawConn
	// fresh is true from the dial to the first acquisition.
	fresh bool

	// What look found; it is made once, so that looking allocates nothing.
	look   func(fd uintptr)
	peeked [1]byte
	n      uintptr
	errno  syscall.Errno

	// giveBack and drop hand the pool's own entry for this connection back to it. The entry's type is not
	// exported, so they are made once, when the connection is first acquired.
	giveBack, drop func()
}

func newConn(c *net.TCPConn, t *target) (*conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	wrapped := &conn{Conn: c, target: t, raw: raw, fresh: true}
	wrapped.look = func(fd uintptr) {
		// Not unix.Recvfrom, which allocates room for the sender's address.
		wrapped.n, _, wrapped.errno = unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&wrapped.peeked)),
			uintptr(len(wrapped.peeked)), unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	}
	return wrapped, nil
}

// state is what a peek at a connection finds before a request is written to it.
type state uint8

const (
	quiet    state = iota // open, and nothing waits to be read: fit for a request
	ended                 // closed by the upstream
	poisoned              // bytes wait that no request asked for; the next response would not be ours
)

// peek looks at the socket without taking anything from it and without waiting.
func (c *conn) peek() state {
	for {
		if err := c.raw.Control(c.look); err != nil {
			return ended
		}
		switch {
		case c.errno == unix.EINTR:
			continue
		case c.errno == unix.EAGAIN:
			return quiet
		case c.errno != 0 || c.n == 0:
			return ended
		default:
			return poisoned
		}
	}
}

// release returns the connection to the pool. The caller vouches that the last response was read to its
// end and that nothing of the next request was sent.
func (c *conn) release() { c.target.release(c) }

// discard closes the connection.
func (c *conn) discard() { c.target.discard(c) }

// past is a deadline that is over: what waits wakes up.
var past = time.Unix(1, 0)
