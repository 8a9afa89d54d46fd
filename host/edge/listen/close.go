package listen

import (
	"io"
	"net"
	"time"
)

// A client that is still sending when its connection is closed gets a reset, and a reset may take the
// answer away that lies in its receive buffer unread. So what it still sends is read and dropped, within
// these bounds.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 20
)

// Close ends the connection: at once where it waits for a request or the client has sent its last byte,
// else lingeringly, so that the client can read what was written.
func (c *Conn) Close() error {
	if c.state.Swap(retired) == waiting || c.failure == io.EOF {
		return c.end(c.Conn.Close)
	}
	return c.end(c.linger)
}

// Quit closes the connection without another byte.
func (c *Conn) Quit() {
	c.silent.Store(true)
	c.state.Store(retired)
	c.end(c.Conn.Close) //nolint:errcheck // nothing depends on how it ended
}

// Abort resets the connection: whatever the client has of a response, it cannot take it for whole. It may
// be called from any goroutine.
func (c *Conn) Abort() {
	c.silent.Store(true)
	c.state.Store(retired)
	if raw, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		raw.SetLinger(0) //nolint:errcheck // the close below ends it in any case
	}
	c.Conn.Close() //nolint:errcheck // likewise
	c.end(func() error { return nil })
}

// end closes once and gives the connection's place in the group back.
func (c *Conn) end(how func() error) (err error) {
	c.close.Do(func() {
		err = how()
		c.group.dismiss(c)
	})
	return err
}

func (c *Conn) linger() error {
	c.silent.Store(true)
	if closeWrite(c.Conn) && c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		io.CopyN(io.Discard, c.Conn, lingerBytes) //nolint:errcheck // what comes is dropped
	}
	return c.Conn.Close()
}

// closeWrite says that nothing more will be written. It is false where that failed, or cannot be said.
func closeWrite(c net.Conn) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}
