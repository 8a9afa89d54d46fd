package pool

import "github.com/porchedge/porch/store"

// ticketsInline is enough for the commits that one response usually rests on: the one under way and the
// one that gathers, for a few decisions apart in time.
const ticketsInline = 4

// Tickets collects what a response rests on. The zero value is ready, and waits for nothing. It is used by
// one goroutine at a time.
type Tickets struct {
	inline [ticketsInline]*store.Ticket
	n      int
	more   []*store.Ticket
}

// add keeps a ticket once. Decisions without one are durable already.
func (t *Tickets) add(ticket *store.Ticket) {
	if ticket == nil {
		return
	}
	for _, have := range t.inline[:t.n] {
		if have == ticket {
			return
		}
	}
	for _, have := range t.more {
		if have == ticket {
			return
		}
	}
	if t.n < len(t.inline) {
		t.inline[t.n] = ticket
		t.n++
		return
	}
	t.more = append(t.more, ticket)
}

// Wait returns when all are durable; an error means that the store is dead and the response must not leave.
func (t *Tickets) Wait() error {
	for _, ticket := range t.inline[:t.n] {
		if err := ticket.Wait(); err != nil {
			return err
		}
	}
	for _, ticket := range t.more {
		if err := ticket.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// Reset lets go of all tickets and keeps the memory.
func (t *Tickets) Reset() {
	clear(t.inline[:t.n])
	t.n = 0
	clear(t.more)
	t.more = t.more[:0]
}
