package listen

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
)

// scripted is a listener whose Accept gives what the script says, and waits at its end.
type scripted struct {
	net.Listener
	script chan any
	closed chan struct{}
}

func (s *scripted) Accept() (net.Conn, error) {
	select {
	case next := <-s.script:
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next.(net.Conn), nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *scripted) Close() error {
	close(s.closed)
	return nil
}

func listen(o Options, script ...any) (*Group, *Listener) {
	s := &scripted{script: make(chan any, len(script)), closed: make(chan struct{})}
	for _, next := range script {
		s.script <- next
	}
	g := NewGroup(o)
	return g, g.Listen(s)
}

// TestAcceptOutlivesShortage runs out of descriptors: listening goes on.
func TestAcceptOutlivesShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		_, l := listen(options, syscall.EMFILE, &net.OpError{Op: "accept", Err: syscall.ENFILE}, syscall.ECONNABORTED, server)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
}

// TestCloseEndsShortage closes while Accept waits for the shortage to pass.
func TestCloseEndsShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := listen(options, syscall.EMFILE, syscall.EMFILE, syscall.EMFILE, syscall.EMFILE, syscall.EMFILE)
		ended := make(chan error)
		// Stops when the listener is closed; waited for below.
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestAcceptFails(t *testing.T) {
	broken := errors.New("broken")
	_, l := listen(options, broken)
	if _, err := l.Accept(); err != broken {
		t.Error(err)
	}
}

// TestFull opens one connection more than allowed.
func TestFull(t *testing.T) {
	synctest.Test(t, testFull)
}

func testFull(t *testing.T) {
	o := options
	o.Max = 1
	var clients, servers [3]net.Conn
	for i := range clients {
		clients[i], servers[i] = net.Pipe()
		defer clients[i].Close()
	}
	g, l := listen(o, servers[0], servers[1], servers[2])
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string)
	// Stops when the second connection is turned away; waited for below.
	go func() {
		text, _ := io.ReadAll(clients[1])
		first.Close()
		told <- string(text)
	}()
	// The second is turned away; the third may be too, where the first has not gone yet.
	accepted := make(chan net.Conn, 1)
	// Stops when the third is accepted or the listener is closed; waited for below.
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	if text := <-told; text != "full" {
		t.Errorf("told %q", text)
	}
	l.Close()
	if c := <-accepted; c != nil {
		c.Close()
	}
	if g.Refused() < 1 || g.Open() != 0 {
		t.Errorf("%d refused, %d open", g.Refused(), g.Open())
	}
}

// TestListenAfterDrain finds a listener of a drained group closed.
func TestListenAfterDrain(t *testing.T) {
	g := NewGroup(options)
	g.Drain()
	g.Drain() // again
	<-g.Done()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Listen(ln).Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
