//go:build !unix

package wasm

// region is memory of the Go heap, where addresses cannot be reserved.
type region struct {
	heap []byte
}

func reserve(uint64) (region, error) { return region{}, nil }

func (r *region) grow(size uint64) ([]byte, error) {
	if more := size - min(size, uint64(len(r.heap))); more > 0 {
		r.heap = append(r.heap, make([]byte, more)...)
	}
	return r.heap[:size], nil
}

func (r *region) release() { r.heap = nil }
