package chain

import "github.com/porchedge/porch/host/exchange"

// unreserve gives back what x has reserved, if it is certain that nothing of it went upstream. Else the
// reservations last for as long as they were made.
func unreserve(x *exchange.Exchange) {
	if x.Sent {
		return
	}
	for _, r := range x.Reservations {
		r.Release()
	}
	clear(x.Reservations)
	x.Reservations = x.Reservations[:0]
}
