package admin

import (
	"net"
	"sync"
)

// limited is a listener with at most cap(slots) connections open; the next one waits to be accepted.
type limited struct {
	net.Listener
	slots  chan struct{} // one entry for each open connection
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, connections int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, connections), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotted{Conn: c, slots: l.slots}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slotted is a connection that gives its slot back once.
type slotted struct {
	net.Conn
	slots <-chan struct{}
	once  sync.Once
}

func (c *slotted) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close()
}
