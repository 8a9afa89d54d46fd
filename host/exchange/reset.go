package exchange

import "sync"

var idle = sync.Pool{New: func() any { return new(Exchange) }}

// Acquire returns an exchange that is empty. It goes back by Release.
func Acquire() *Exchange { return idle.Get().(*Exchange) }

// Release empties x and keeps it for a later request. Nobody may hold x, or a slice out of its header
// lists, from here on.
func (x *Exchange) Release() {
	x.Reset()
	idle.Put(x)
}

// maxKept is the number of fields or operations whose memory an idle exchange keeps. Larger lists are
// rare, and go.
const maxKept = 256

// Reset empties x. Lists keep their memory, and so does the arena; the bytes of bodies do not, since a
// response may still be on its way to the client.
func (x *Exchange) Reset() {
	for i := range x.Places {
		p := &x.Places[i]
		clear(p.Ops)
		*p = Place{Ops: keep(p.Ops)}
	}
	x.Request.Header.Reset()
	x.Response.Header.Reset()
	x.Properties.Reset()
	x.Arena.Reset()
	x.Tickets.Reset()
	x.Gate.Reset()
	clear(x.Reservations)
	*x = Exchange{
		Request:    Request{Header: Header{Fields: keep(x.Request.Header.Fields)}},
		Response:   Response{Header: Header{Fields: keep(x.Response.Header.Fields)}},
		Properties: x.Properties,
		Arena:      x.Arena,
		Places:     x.Places[:0],
		Tickets:    x.Tickets,
		Gate:       x.Gate,

		Reservations: x.Reservations[:0],
	}
}

func keep[T any](list []T) []T {
	if cap(list) > maxKept {
		return nil
	}
	return list[:0]
}
