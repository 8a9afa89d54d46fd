package exchange

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"

	"github.com/porchedge/porch/abi"
)

// ErrBodyNotHeld is returned by Digest when the body is wanted and streams past the filters.
var ErrBodyNotHeld = errors.New("exchange: the body is not held, so it has no digest")

// Digest is the SHA-256 over the parts that are named, in the order of their bits, as the client sent
// them. Each part is preceded by its bit and its length, 4 and 8 bytes little endian, so no two requests
// run together.
func (r *Request) Digest(parts int32) ([abi.DigestSize]byte, error) {
	if parts&abi.DigestBody != 0 && !r.Held {
		return [abi.DigestSize]byte{}, ErrBodyNotHeld
	}
	h := sha256.New()
	for _, p := range []struct {
		bit  int32
		part []byte
	}{
		{abi.DigestMethod, []byte(r.Sent.Method)},
		{abi.DigestAuthority, r.Sent.Authority},
		{abi.DigestPath, r.Sent.Path},
		{abi.DigestQuery, r.Sent.Query},
		{abi.DigestContentType, r.Sent.MediaType},
		{abi.DigestBody, r.Body},
	} {
		if parts&p.bit != 0 {
			writePart(h, p.bit, p.part)
		}
	}
	return [abi.DigestSize]byte(h.Sum(nil)), nil
}

func writePart(h hash.Hash, bit int32, part []byte) {
	var head [12]byte
	binary.LittleEndian.PutUint32(head[:], uint32(bit))
	binary.LittleEndian.PutUint64(head[4:], uint64(len(part)))
	h.Write(head[:])
	h.Write(part)
}
