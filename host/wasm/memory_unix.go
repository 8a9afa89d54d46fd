//go:build unix

package wasm

import "golang.org/x/sys/unix"

// region is a range of reserved addresses of which the first part is accessible.
type region struct {
	mapped []byte
	open   uint64 // bytes that are accessible
}

func reserve(size uint64) (region, error) {
	if size == 0 {
		return region{}, nil
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return region{mapped: b}, err
}

func (r *region) grow(size uint64) ([]byte, error) {
	if size > r.open {
		if err := unix.Mprotect(r.mapped[r.open:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil, err
		}
		r.open = size
	}
	return r.mapped[:size:size], nil
}

func (r *region) release() {
	if r.mapped != nil {
		// It fails only for a range that was not mapped, which this one was.
		_ = unix.Munmap(r.mapped)
		r.mapped = nil
	}
}
