package guest

import (
	"encoding/binary"
	"iter"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// arena holds what the host wrote during one call. Values never overlap; when a chunk is full the next one
// is larger, and what lies in the former one stays valid until the call ends.
type arena struct {
	chunk []byte
	used  int
}

var memory = arena{chunk: make([]byte, firstChunk)}

const (
	firstChunk = 8 << 10
	// keptChunk is the largest chunk that outlives a call, so one huge header does not hold memory for ever.
	keptChunk = 256 << 10
)

func (a *arena) reset() {
	if len(a.chunk) > keptChunk {
		a.chunk = make([]byte, firstChunk)
	}
	a.used = 0
}

// free returns the unused part of the chunk.
func (a *arena) free() []byte { return a.chunk[a.used:] }

// grow makes room for n bytes and returns it.
func (a *arena) grow(n int) []byte {
	a.chunk = make([]byte, max(2*len(a.chunk), n))
	a.used = 0
	return a.chunk
}

// take keeps the first n bytes of free.
func (a *arena) take(n int) []byte {
	from := a.used
	a.used += n
	return a.chunk[from:a.used:a.used]
}

// read gets a field; ok is false where there is none.
func read(field abi.Field, name string) (value []byte, ok bool) {
	n := int(host.Get(field, name, memory.free()))
	if n > len(memory.free()) {
		n = int(host.Get(field, name, memory.grow(n)))
	}
	if n < 0 {
		return nil, false
	}
	return memory.take(n), true
}

// list gets the names of a field, or the values under a name.
func list(field abi.Field, name string) List {
	n := int(host.List(field, name, memory.free()))
	if n > len(memory.free()) {
		n = int(host.List(field, name, memory.grow(n)))
	}
	if n <= 0 {
		return List{}
	}
	return List{memory.take(n)}
}

// List is a sequence of names or values, valid until the handler returns.
type List struct {
	rest []byte
}

// Next takes the first entry off the list; ok is false at its end.
func (l *List) Next() (entry []byte, ok bool) {
	if len(l.rest) < 4 {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(l.rest)
	entry = l.rest[4 : 4+n]
	l.rest = l.rest[4+n:]
	return entry, true
}

// All goes over the entries and leaves the list as it is.
func (l List) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for entry, ok := l.Next(); ok && yield(entry); entry, ok = l.Next() {
		}
	}
}
