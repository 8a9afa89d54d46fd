package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// RowKeySize is the size of a row's key in bytes.
const RowKeySize = 16

// RowKey names a row. It is the head of an HMAC-SHA256 under the store's secret, so it gives neither the
// policy nor the key away, and nobody can choose keys that fall on one shard.
type RowKey [RowKeySize]byte

// Shard is the shard that owns the row, of n.
func (k RowKey) Shard(n int) int {
	return int(binary.LittleEndian.Uint64(k[:8]) % uint64(n))
}

// PolicyID names a policy in rows: a short hash of its identity under the store's secret.
type PolicyID [8]byte

// Identity is the bytes that tell one policy from any other: both names, each behind its length.
func Identity(filter, name string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(filter)))
	b = append(b, filter...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	return append(b, name...)
}

// keyer derives keys. Its states of the hash are used again, so a key costs no allocation.
type keyer struct {
	states sync.Pool
}

type keyState struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newKeyer(secret []byte) *keyer {
	k := &keyer{}
	k.states.New = func() any { return &keyState{mac: hmac.New(sha256.New, secret)} }
	return k
}

// row is the key of a row. An identity tells its own length, so identity and key cannot run together.
func (k *keyer) row(identity, key []byte) (out RowKey) {
	s := k.states.Get().(*keyState)
	s.mac.Reset()
	s.mac.Write(identity)
	s.mac.Write(key)
	copy(out[:], s.mac.Sum(s.sum[:0]))
	k.states.Put(s)
	return out
}

// policy is the id of a policy. The mark in front keeps it apart from every row, whose identity begins
// with the four bytes of a short length.
func (k *keyer) policy(identity []byte) (out PolicyID) {
	s := k.states.Get().(*keyState)
	s.mac.Reset()
	s.mac.Write([]byte("policy\x00"))
	s.mac.Write(identity)
	copy(out[:], s.mac.Sum(s.sum[:0]))
	k.states.Put(s)
	return out
}
