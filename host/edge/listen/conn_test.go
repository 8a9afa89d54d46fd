package listen

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var options = Options{Idle: 10 * time.Second, MinRate: 100, Max: 8, Full: []byte("full")}

// pipe is a connection of a group and its client's end. It works under fake time.
func pipe(t *testing.T, o Options) (*Conn, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	c, err := NewGroup(o).admit(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Abort()
		client.Close()
	})
	return c, client
}

// trickle sends n bytes, one at a time.
func trickle(client net.Conn, n int, every time.Duration) {
	for range n {
		time.Sleep(every)
		if _, err := client.Write([]byte{'x'}); err != nil {
			return
		}
	}
}

// beside runs f in a goroutine of its own. The function that it returns closes both ends and waits for f.
func beside(c *Conn, client net.Conn, f func()) (stop func()) {
	done := make(chan struct{})
	// Stops when f has nothing more to do, or the connection is closed by stop, which waits for it.
	go func() {
		defer close(done)
		f()
	}()
	return func() {
		c.Abort()
		client.Close()
		<-done
	}
}

func TestReadDeadline(t *testing.T) {
	tests := []struct {
		name   string
		n      int
		every  time.Duration
		passes bool
	}{
		{"above the rate, for longer than the idle time", 3000, 7 * time.Millisecond, true},
		{"below the rate, within the idle time in all", 9, time.Second, true},
		{"below the rate for longer", 1000, 20 * time.Millisecond, false},
		{"a byte in every idle time", 5, 9 * time.Second, false},
		{"silence", 1, time.Minute, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, client := pipe(t, options)
				c.Begin()
				defer beside(c, client, func() { trickle(client, tt.n, tt.every) })()
				read := 0
				var err error
				for read < tt.n && err == nil {
					var n int
					n, err = c.Read(make([]byte, 8))
					read += n
				}
				if tt.passes {
					if err != nil {
						t.Fatalf("after %d bytes: %v", read, err)
					}
					return
				}
				var timeout net.Error
				if err != ErrSlow || c.Failure() != ErrSlow || !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Fatalf("after %d bytes: %v", read, err)
				}
			})
		})
	}
}

// TestOwnDelaysDoNotCount has the server read late: the client is not to blame.
func TestOwnDelaysDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := pipe(t, options)
		c.Begin()
		defer beside(c, client, func() { trickle(client, 20, time.Millisecond) })()
		for range 20 {
			time.Sleep(time.Minute) // a slow upstream
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWaitingDoesNotCount has the time between two requests not be held against the second one.
func TestWaitingDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := pipe(t, options)
		defer beside(c, client, func() { trickle(client, 6, 9*time.Second) })()
		for range 3 {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if !c.Begin() {
				t.Fatal("closed")
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			c.Await()
		}
	})
}

func TestWriteDeadline(t *testing.T) {
	tests := []struct {
		name   string
		take   int // bytes at once
		every  time.Duration
		passes bool
	}{
		{"taken in time", 1000, time.Second, true},
		{"below the rate", 50, time.Second, false},
		{"not taken", 1, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, client := pipe(t, options)
				c.Begin()
				defer beside(c, client, func() {
					for {
						time.Sleep(tt.every)
						if _, err := io.ReadFull(client, make([]byte, tt.take)); err != nil {
							return
						}
					}
				})()
				n, err := c.Write(make([]byte, 5000))
				if tt.passes != (err == nil) || !tt.passes && err != ErrSlow {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
		})
	}
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, options)
		c.Begin()
		failed := make(chan error)
		// Stops when the read is interrupted; waited for below.
		go func() {
			_, err := c.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		c.Interrupt()
		if err := <-failed; err != errInterrupted || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(options.Idle / 2) // so that the read would set a deadline of its own
		began = time.Now()
		if _, err := c.Read(make([]byte, 1)); err != errInterrupted || time.Since(began) != 0 {
			t.Errorf("a later read: %v after %v", err, time.Since(began))
		}
	})
}

// TestStates walks through the life of a connection.
func TestStates(t *testing.T) {
	c, _ := pipe(t, options)
	if c.Serving() || !c.Begin() || !c.Serving() {
		t.Error("does not begin")
	}
	c.Await()
	if c.Serving() {
		t.Error("serves while it waits")
	}
	c.Begin()
	c.group.Drain()
	if !c.Serving() {
		t.Error("a drain ends a request")
	}
	c.Await()
	if c.Begin() {
		t.Error("a drained connection begins a request")
	}
	<-c.group.Done()
	c.Close() // again
	if c.group.Open() != 0 {
		t.Error("still open")
	}
}
