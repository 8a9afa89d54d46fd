package exchange

// arenaChunk is the size of a fresh piece of an Arena: room for the header operations of a usual chain.
const arenaChunk = 512

// Arena keeps copies of bytes for as long as the exchange lasts, with few allocations. The zero value is
// ready.
type Arena struct {
	chunk []byte
}

// Keep returns a copy of b that is valid until Reset.
func (a *Arena) Keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if cap(a.chunk)-len(a.chunk) < len(b) {
		a.chunk = make([]byte, 0, max(arenaChunk, len(b)))
	}
	start := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	return a.chunk[start:len(a.chunk):len(a.chunk)]
}

// Reset lets go of every copy and keeps a chunk of the usual size for the next exchange.
func (a *Arena) Reset() {
	if cap(a.chunk) > arenaChunk {
		a.chunk = nil
		return
	}
	a.chunk = a.chunk[:0]
}
