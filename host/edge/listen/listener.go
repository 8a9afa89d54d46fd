package listen

import (
	"errors"
	"net"
	"syscall"
	"time"
)

var errFull = errors.New("listen: as many connections as allowed")

// Listener accepts connections into a group.
type Listener struct {
	net.Listener
	group  *Group
	closed chan struct{}
}

// Listen wraps ln. A group that is drained accepts nothing more.
func (g *Group) Listen(ln net.Listener) *Listener {
	l := &Listener{Listener: ln, group: g, closed: make(chan struct{})}
	g.mu.Lock()
	draining := g.draining.Load()
	if !draining {
		g.mu.listeners[l] = struct{}{}
	}
	g.mu.Unlock()
	if draining {
		l.Close()
	}
	return l
}

// Close stops listening.
func (l *Listener) Close() error {
	l.group.mu.Lock()
	delete(l.group.mu.listeners, l)
	select {
	case <-l.closed:
		l.group.mu.Unlock()
		return nil
	default:
		close(l.closed)
	}
	l.group.mu.Unlock()
	return l.Listener.Close()
}

// The wait before the next try when the system is out of descriptors or memory.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Accept waits for the next connection that there is room for. Shortage in the system is waited out: it
// passes, and a server that stopped listening would not come back.
func (l *Listener) Accept() (net.Conn, error) {
	for pause := firstPause; ; {
		raw, err := l.Listener.Accept()
		if err != nil {
			if !passes(err) {
				return nil, err
			}
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			case <-time.After(pause):
			}
			pause = min(2*pause, lastPause)
			continue
		}
		pause = firstPause
		c, err := l.group.admit(raw)
		switch err {
		case nil:
			return c, nil
		case errFull:
			l.turnAway(raw)
		default:
			raw.Close()
		}
	}
}

func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// turnAway answers a connection that is one too many. The answer fits the socket's buffer, so this does
// not wait; it may be lost where the client has sent much already.
func (l *Listener) turnAway(raw net.Conn) {
	l.group.refused.Add(1)
	if raw.SetWriteDeadline(time.Now().Add(firstPause)) == nil {
		if _, err := raw.Write(l.group.opts.Full); err == nil {
			closeWrite(raw)
		}
	}
	raw.Close()
}
