// Package listen gives the server connections that can be trusted to end: each has a deadline that
// progress renews and a minimum rate, none is closed in a way that loses what was just written, and their
// number is bounded. host/edge serves them. After a crash nothing of them remains.
package listen

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options bound a group's connections.
type Options struct {
	// Idle is how long a connection may do nothing: between requests, between reads of one, between
	// writes.
	Idle time.Duration
	// MinRate is the bytes per second that a client must send and take on average, while it is waited
	// for.
	MinRate int64
	// Max is the number of open connections; one more is answered with Full and closed.
	Max  int
	Full []byte
}

// Group is the open connections of one server, whatever listener they came by.
type Group struct {
	opts     Options
	refused  atomic.Int64
	draining atomic.Bool   // set under mu
	done     chan struct{} // closed when drained: see Drain

	mu struct {
		sync.Mutex
		conns     map[*Conn]struct{}
		listeners map[*Listener]struct{}
	}
}

// NewGroup makes a group without connections.
func NewGroup(o Options) *Group {
	g := &Group{opts: o, done: make(chan struct{})}
	g.mu.conns = map[*Conn]struct{}{}
	g.mu.listeners = map[*Listener]struct{}{}
	return g
}

// Open is the number of open connections.
func (g *Group) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.mu.conns)
}

// Refused is the number of connections that came above the bound.
func (g *Group) Refused() int64 { return g.refused.Load() }

// Draining says whether Drain was called.
func (g *Group) Draining() bool { return g.draining.Load() }

// Drain stops listening and closes the connections that wait for a request; the others close when they
// come to wait. Done is closed when none is left.
func (g *Group) Drain() {
	g.mu.Lock()
	if g.draining.Swap(true) {
		g.mu.Unlock()
		return
	}
	var listeners []*Listener
	for l := range g.mu.listeners {
		listeners = append(listeners, l)
	}
	conns := g.snapshot()
	if len(conns) == 0 {
		close(g.done)
	}
	g.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	for _, c := range conns {
		c.retire()
	}
}

// Done is closed when the group is drained.
func (g *Group) Done() <-chan struct{} { return g.done }

// Abort resets every connection.
func (g *Group) Abort() {
	g.mu.Lock()
	conns := g.snapshot()
	g.mu.Unlock()
	for _, c := range conns {
		c.Abort()
	}
}

// snapshot lists the connections, so that none is closed under the lock.
func (g *Group) snapshot() []*Conn {
	conns := make([]*Conn, 0, len(g.mu.conns))
	for c := range g.mu.conns {
		conns = append(conns, c)
	}
	return conns
}

// admit takes a connection in, if there is room for it.
func (g *Group) admit(raw net.Conn) (*Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining.Load() {
		return nil, net.ErrClosed
	}
	if len(g.mu.conns) >= g.opts.Max {
		return nil, errFull
	}
	c := newConn(raw, g)
	g.mu.conns[c] = struct{}{}
	return c, nil
}

// dismiss lets a closed connection go.
func (g *Group) dismiss(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.mu.conns, c)
	if g.draining.Load() && len(g.mu.conns) == 0 {
		select {
		case <-g.done:
		default:
			close(g.done)
		}
	}
}
