package store

// Ticket is the promise that decisions will be durable. All decisions of one commit share one.
type Ticket struct {
	done chan struct{}
	err  error // valid once done is closed
}

// NewTicket returns a ticket that is not settled. Engines make and settle tickets; nobody else does.
func NewTicket() Ticket { return Ticket{done: make(chan struct{})} }

// Settle wakes all who wait. A nil err says that the decisions are durable. It is called once.
func (t *Ticket) Settle(err error) {
	t.err = err
	close(t.done)
}

// Settled says whether Wait would return at once.
func (t *Ticket) Settled() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Wait returns nil when the decisions are durable, and an error when they will never be known to be.
func (t *Ticket) Wait() error {
	<-t.done
	return t.err
}
