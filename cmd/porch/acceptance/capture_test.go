package acceptance

import (
	"bytes"
	"sync"
)

// capture keeps what a process writes.
type capture struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(b)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// tail is the end of it, for a failed test's log.
func (c *capture) tail() string {
	const most = 16 << 10
	s := c.String()
	return s[max(0, len(s)-most):]
}
