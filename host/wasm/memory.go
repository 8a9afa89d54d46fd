package wasm

import "fmt"

const pageSize = 64 << 10 // bytes of a page of WebAssembly memory

// guestMemory is the memory of one instance. It reserves addresses up to the filter's limit at once and
// hands them out as the guest grows, so a growing memory is never copied; release gives all of it back to
// the system at once. The instance owns it: it outlives the wazero module, which may still be unwinding
// when wazero believes the memory is free.
type guestMemory struct {
	limit  uint64
	region region
	// refused is set when the guest asked for more than the limit. It belongs to the goroutine that
	// calls the instance.
	refused bool
}

// newGuestMemory reserves limit bytes, of which least are there at once: wazero panics when the allocator
// refuses what a memory begins with.
func newGuestMemory(limit, least uint64) (*guestMemory, error) {
	r, err := reserve(limit)
	if err != nil {
		return nil, fmt.Errorf("wasm: cannot reserve %d bytes for a guest: %w", limit, err)
	}
	m := &guestMemory{limit: limit, region: r}
	if _, err := m.region.grow(least); err != nil {
		m.release()
		return nil, fmt.Errorf("wasm: cannot get %d bytes for a guest: %w", least, err)
	}
	return m, nil
}

// Reallocate is called by wazero with the size that the memory begins with, and whenever the guest grows
// it. nil makes memory.grow return -1.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	b, err := m.region.grow(size)
	if err != nil {
		m.refused = true
		return nil
	}
	return b
}

// Free is wazero's call; the instance releases the memory when nothing can touch it any more.
func (m *guestMemory) Free() {}

func (m *guestMemory) release() { m.region.release() }
