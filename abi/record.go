package abi

import "encoding/binary"

// Sizes of the wire records in guest memory, in bytes. All numbers are little endian; a record needs no
// alignment.
const (
	ChargeSize  = 32
	VerdictSize = 64
)

// Charge is one charge of a count as it lies in guest memory.
//
//	offset 0   u32  policy handle
//	offset 4   u32  address of the key
//	offset 8   u32  length of the key
//	offset 12  u32  0
//	offset 16  i64  cost, 1 to MaxCost
//	offset 24  i64  limit for this charge alone, 1 to MaxCost; 0 takes the policy's
type Charge struct {
	Policy  uint32
	KeyAddr uint32
	KeyLen  uint32
	Cost    int64
	Limit   int64
}

// Put writes the record to b, which has at least ChargeSize bytes.
func (c Charge) Put(b []byte) {
	_ = b[ChargeSize-1]
	binary.LittleEndian.PutUint32(b[0:], c.Policy)
	binary.LittleEndian.PutUint32(b[4:], c.KeyAddr)
	binary.LittleEndian.PutUint32(b[8:], c.KeyLen)
	binary.LittleEndian.PutUint32(b[12:], 0)
	binary.LittleEndian.PutUint64(b[16:], uint64(c.Cost))
	binary.LittleEndian.PutUint64(b[24:], uint64(c.Limit))
}

// GetCharge reads a record from b, which has at least ChargeSize bytes.
func GetCharge(b []byte) Charge {
	_ = b[ChargeSize-1]
	return Charge{
		Policy:  binary.LittleEndian.Uint32(b[0:]),
		KeyAddr: binary.LittleEndian.Uint32(b[4:]),
		KeyLen:  binary.LittleEndian.Uint32(b[8:]),
		Cost:    int64(binary.LittleEndian.Uint64(b[16:])),
		Limit:   int64(binary.LittleEndian.Uint64(b[24:])),
	}
}

// Verdict is the answer to one charge as it lies in guest memory.
//
//	offset 0   u32  1 if this charge alone would be allowed, else 0
//	offset 4   u32  0
//	offset 8   i64  used: the count after this charge if all were allowed, else as it stands
//	offset 16  i64  limit that applied
//	offset 24  i64  remaining, never negative
//	offset 32  i64  milliseconds until the window resets, rounded up
//	offset 40  i64  wall-clock time of that reset, Unix milliseconds
//	offset 48  i64  milliseconds to wait before this charge can be allowed, rounded up;
//	                0 if it was allowed, -1 if waiting does not help (cost above limit)
//	offset 56  i64  0
type Verdict struct {
	Allowed    bool
	Used       int64
	Limit      int64
	Remaining  int64
	ResetAfter int64
	ResetAt    int64
	RetryAfter int64
}

// Put writes the record to b, which has at least VerdictSize bytes.
func (v Verdict) Put(b []byte) {
	_ = b[VerdictSize-1]
	var allowed uint64
	if v.Allowed {
		allowed = 1
	}
	binary.LittleEndian.PutUint64(b[0:], allowed)
	binary.LittleEndian.PutUint64(b[8:], uint64(v.Used))
	binary.LittleEndian.PutUint64(b[16:], uint64(v.Limit))
	binary.LittleEndian.PutUint64(b[24:], uint64(v.Remaining))
	binary.LittleEndian.PutUint64(b[32:], uint64(v.ResetAfter))
	binary.LittleEndian.PutUint64(b[40:], uint64(v.ResetAt))
	binary.LittleEndian.PutUint64(b[48:], uint64(v.RetryAfter))
	binary.LittleEndian.PutUint64(b[56:], 0)
}

// Get reads the record from b, which has at least VerdictSize bytes.
func (v *Verdict) Get(b []byte) {
	_ = b[VerdictSize-1]
	v.Allowed = binary.LittleEndian.Uint32(b[0:]) == 1
	v.Used = int64(binary.LittleEndian.Uint64(b[8:]))
	v.Limit = int64(binary.LittleEndian.Uint64(b[16:]))
	v.Remaining = int64(binary.LittleEndian.Uint64(b[24:]))
	v.ResetAfter = int64(binary.LittleEndian.Uint64(b[32:]))
	v.ResetAt = int64(binary.LittleEndian.Uint64(b[40:]))
	v.RetryAfter = int64(binary.LittleEndian.Uint64(b[48:]))
}

// GetVerdict reads a record from b, which has at least VerdictSize bytes.
func GetVerdict(b []byte) Verdict {
	var v Verdict
	v.Get(b)
	return v
}
