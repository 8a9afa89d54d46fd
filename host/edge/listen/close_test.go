package listen

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// connected is a connection over a real socket, and its client's end.
func connected(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := NewGroup(options).Listen(ln)
	t.Cleanup(func() { l.Close() })
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(30 * time.Second)) //nolint:errcheck // bounds a test that has gone wrong
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.(*Conn).Abort()
		client.Close()
	})
	return c.(*Conn), client.(*net.TCPConn)
}

// TestCloseLingers closes on a client that still sends: it has what was written all the same, and the
// server does not wait for it beyond its end.
func TestCloseLingers(t *testing.T) {
	c, client := connected(t)
	c.Begin()
	if _, err := client.Write(make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	// Stops when the connection is closed; waited for below.
	go func() { closed <- c.Close() }()
	for range 64 {
		if _, err := client.Write(make([]byte, 64<<10)); err != nil {
			t.Fatalf("the server reset the connection: %v", err)
		}
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	client.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestAbortResets aborts: the client cannot take what it has for the whole.
func TestAbortResets(t *testing.T) {
	c, client := connected(t)
	c.Begin()
	if _, err := c.Write([]byte("half an answer")); err != nil {
		t.Fatal(err)
	}
	c.Abort()
	if _, err := io.ReadAll(client); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a later write: %v", err)
	}
}

// TestAbortEndsLingering aborts a connection that lingers.
func TestAbortEndsLingering(t *testing.T) {
	c, _ := connected(t)
	c.Begin()
	closed := make(chan struct{})
	// Stops when the connection is closed; waited for below.
	go func() {
		defer close(closed)
		c.Close()
	}()
	for c.Serving() {
	}
	c.group.Abort()
	<-closed
}
