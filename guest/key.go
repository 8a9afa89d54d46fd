package guest

import (
	"encoding/binary"

	"github.com/porchedge/porch/abi"
)

// Key builds the bytes to count by from several parts. Each part stands behind its length, so no two
// different lists of parts make the same key: ("ab", "c") is not ("a", "bc"). The zero value is an empty key;
// Reset makes it ready for the next request and keeps its memory.
type Key struct {
	buf  [abi.MaxKey]byte
	used int
	over bool
}

// Reset empties the key.
func (k *Key) Reset() { k.used, k.over = 0, false }

// Add appends a part.
func (k *Key) Add(part []byte) { add(k, part) }

// AddText appends a part.
func (k *Key) AddText(part string) { add(k, part) }

func add[T string | []byte](k *Key, part T) {
	if k.over || len(part) > len(k.buf)-k.used-2 {
		k.over = true
		return
	}
	binary.LittleEndian.PutUint16(k.buf[k.used:], uint16(len(part)))
	k.used += 2 + copy(k.buf[k.used+2:], part)
}

// Bytes returns the key, valid until the next Reset or Add. ok is false where the parts are together longer
// than a key may be; such a request must be refused, since a shortened key would be another one's.
func (k *Key) Bytes() (key []byte, ok bool) { return k.buf[:k.used], !k.over }
