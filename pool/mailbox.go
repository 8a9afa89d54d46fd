package pool

import "sync"

// mailbox is a shard's two queues. New work is bounded; the second queue takes what ends admitted work, is
// served first and never refuses, since what it takes is bounded by the work that was admitted.
type mailbox struct {
	bound int
	wake  chan struct{} // one place: a push while the shard is busy is not lost

	mu struct {
		sync.Mutex
		work, second []*call
		unanswered   int // new work, until it is answered
		closed       bool
		stopped      bool
	}
}

func newMailbox(bound int) *mailbox {
	return &mailbox{bound: bound, wake: make(chan struct{}, 1)}
}

// push takes new work: ErrSaturated if as much as the bound is unanswered.
func (m *mailbox) push(c *call) error {
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	if m.mu.unanswered >= m.bound {
		m.mu.Unlock()
		return ErrSaturated
	}
	m.mu.unanswered++
	m.mu.work = append(m.mu.work, c)
	m.mu.Unlock()
	m.call()
	return nil
}

// pushSecond takes what ends admitted work. It is false once the shard has stopped.
func (m *mailbox) pushSecond(c *call) bool {
	m.mu.Lock()
	if m.mu.stopped {
		m.mu.Unlock()
		return false
	}
	m.mu.second = append(m.mu.second, c)
	m.mu.Unlock()
	m.call()
	return true
}

func (m *mailbox) call() {
	select {
	case m.wake <- struct{}{}:
	default: // it is awake already
	}
}

// drain takes all that waits and leaves the emptied slices of the former batch in its place.
func (m *mailbox) drain(second, work []*call) (_, _ []*call, closed, stopped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.second, second = second[:0], m.mu.second
	m.mu.work, work = work[:0], m.mu.work
	return second, work, m.mu.closed, m.mu.stopped
}

// answered makes room for as much new work as was answered.
func (m *mailbox) answered(n int) {
	m.mu.Lock()
	m.mu.unanswered -= n
	m.mu.Unlock()
}

// depth is the new work that is unanswered.
func (m *mailbox) depth() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.unanswered
}

// close refuses new work from now on.
func (m *mailbox) close() {
	m.mu.Lock()
	m.mu.closed = true
	m.mu.Unlock()
	m.call()
}

// stop refuses everything from now on.
func (m *mailbox) stop() {
	m.mu.Lock()
	m.mu.stopped = true
	m.mu.Unlock()
	m.call()
}
