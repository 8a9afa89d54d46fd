package upstream

import (
	"context"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// target is one address of an upstream with its pool of connections, which is fasthttp's.
type target struct {
	authority string // host and port as configured
	dialer    net.Dialer
	pool      *fasthttp.HostClient
	most      int64 // requests at the target and waiting for a connection to it

	ctx    context.Context // ends when the upstream is closed
	inUse  atomic.Int64    // connections that are acquired or waited for
	dials  atomic.Uint64
	failed atomic.Uint64 // dials that failed
	stale  atomic.Uint64 // connections discarded before a request was written
	early  atomic.Uint64 // requests whose rest was not sent
}

func newTarget(ctx context.Context, to *url.URL, o Options) *target {
	t := &target{
		authority: to.Host,
		ctx:       ctx,
		dialer:    net.Dialer{Timeout: o.ConnectTimeout},
		most:      int64(o.MaxConns) + int64(o.MaxWaiting),
	}
	t.pool = &fasthttp.HostClient{
		Addr:                fasthttp.AddMissingPort(to.Host, false),
		DialTimeout:         t.dial,
		MaxConns:            o.MaxConns,
		MaxConnWaitTimeout:  o.WaitTimeout,
		MaxIdleConnDuration: o.IdleTimeout,
		// The connection used last is the one least likely to be stale, and the others age out.
		ConnPoolStrategy: fasthttp.LIFO,
	}
	return t
}

// dial is called by the pool. The time that it names is not used: connecting has its own bound.
func (t *target) dial(addr string, _ time.Duration) (net.Conn, error) {
	t.dials.Add(1)
	c, err := t.dialer.DialContext(t.ctx, "tcp", addr)
	if err == nil {
		var wrapped *conn
		if wrapped, err = newConn(c.(*net.TCPConn), t); err == nil {
			return wrapped, nil
		}
		c.Close()
	}
	t.failed.Add(1)
	return nil, err
}

// acquire takes a connection that is open and has nothing to read, before anything is written to it. A
// stale one is closed and another taken; as each one leaves the pool, the number of them bounds the loop.
func (t *target) acquire(unasked func()) (*conn, error) {
	if t.inUse.Add(1) > t.most {
		t.inUse.Add(-1)
		return nil, errTooMany
	}
	for {
		entry, err := t.pool.AcquireConn(0, false)
		if err != nil {
			t.inUse.Add(-1)
			return nil, err
		}
		c := entry.Conn().(*conn)
		if c.giveBack == nil {
			c.giveBack = func() { t.pool.ReleaseConn(entry) }
			c.drop = func() { t.pool.CloseConn(entry) }
		}
		fresh := c.fresh
		c.fresh = false
		found := c.peek()
		if found == quiet {
			return c, nil
		}
		t.stale.Add(1)
		c.drop()
		if found == poisoned {
			unasked()
		}
		if fresh {
			t.inUse.Add(-1)
			if found == poisoned {
				return nil, nonsense("a fresh connection began with bytes from the upstream")
			}
			return nil, errGone
		}
	}
}

func (t *target) release(c *conn) {
	c.giveBack()
	t.inUse.Add(-1)
	if t.ctx.Err() != nil {
		t.pool.CloseIdleConnections()
	}
}

func (t *target) discard(c *conn) {
	c.drop()
	t.inUse.Add(-1)
}
