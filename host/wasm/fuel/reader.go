package fuel

// reader reads a part of a module, in the binary format. The first failure stays: after it every value is zero
// and nothing is left to read.
type reader struct {
	b   []byte // the module up to the end of the part
	at  int    // offset in the module
	err *Error
}

func (r *reader) fail(at int, reason string) {
	if r.err == nil {
		r.err = &Error{at, reason}
	}
	r.at = len(r.b)
}

// failure is the error as an error: nil if there is none.
func (r *reader) failure() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

func (r *reader) more() bool { return r.at < len(r.b) }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail(r.at, "unexpected end")
		return 0
	}
	b := r.b[r.at]
	r.at++
	return b
}

func (r *reader) skip(n int) {
	if n > len(r.b)-r.at {
		r.fail(r.at, "unexpected end")
		return
	}
	r.at += n
}

// bytes reads a length and that many bytes.
func (r *reader) bytes() []byte {
	n := r.count()
	r.at += n
	return r.b[r.at-n : r.at]
}

// u32 reads an unsigned number (LEB128).
func (r *reader) u32() uint32 {
	start := r.at
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.fail(start, "number too large for 32 bits")
	return 0
}

// signed reads a signed number (LEB128) of at most so many bits.
func (r *reader) signed(bits int) int64 {
	start := r.at
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if shift+7 < 64 && b&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		if used := bits - shift; used < 7 {
			// The bits beyond the number repeat its sign.
			if rest := int8(b<<1) >> used; rest != 0 && rest != -1 {
				break
			}
		}
		return v
	}
	r.fail(start, "number too large")
	return 0
}

// count reads the number of entries that follow, each of which takes at least one byte.
func (r *reader) count() int {
	start := r.at
	n := r.u32()
	if uint64(n) > uint64(len(r.b)-r.at) {
		r.fail(start, "more entries than there are bytes")
		return 0
	}
	return int(n)
}

// limits steps over the bounds of a table or a memory.
func (r *reader) limits() {
	start := r.at
	switch r.byte() {
	case 0:
		r.u32()
	case 1:
		r.u32()
		r.u32()
	default:
		r.fail(start, "unknown kind of limits")
	}
}
