package peer

import (
	"math/rand/v2"

	"github.com/porchedge/porch/host/exchange"
)

const (
	maxID  = 64 // bytes of a request id that is taken over
	idSize = 16 // characters of a fresh one: 80 bits
	// digits are Crockford's 32: none is mistaken for another when read aloud.
	digits = "0123456789abcdefghjkmnpqrstvwxyz"
)

// RequestID is the id of a request: the one that a trusted proxy gave, if it is of a form that can go into
// logs and headers as it is, else a fresh random one.
func RequestID(trusted bool, header *exchange.Header) string {
	if trusted {
		if id, ok := header.Get(requestID); ok && isID(id) {
			return string(id)
		}
	}
	return newID()
}

var requestID = []byte("X-Request-Id")

func isID(id []byte) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	for _, c := range id {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case c == '-', c == '_', c == '.', c == '~', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return true
}

func newID() string {
	var id [idSize]byte
	high, low := rand.Uint64(), rand.Uint64()
	for i := range id {
		if i == idSize/2 {
			high = low
		}
		id[i] = digits[high&31]
		high >>= 5
	}
	return string(id[:])
}
