package abi

import "encoding/binary"

// ClaimKind is what the value of a claim is.
type ClaimKind uint32

// The kinds of claim.
const (
	ClaimText   ClaimKind = 1 // a string; the value is its text
	ClaimNumber ClaimKind = 2 // the value is the number as the token has it
	ClaimBool   ClaimKind = 3 // "true" or "false"
	ClaimJSON   ClaimKind = 4 // a list or a mapping; the value is its JSON
)

// Scalar says that the value is one word, not a list or a mapping.
func (k ClaimKind) Scalar() bool { return k >= ClaimText && k <= ClaimBool }

// Claim is one claim of a verified token as verify writes it to guest memory, one after the other:
//
//	u32  kind
//	u32  length of the name, and the name
//	u32  length of the value, and the value
type Claim struct {
	Kind        ClaimKind
	Name, Value []byte
}

// AppendClaim appends the record to b.
func AppendClaim(b []byte, c Claim) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Kind))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.Name)))
	b = append(b, c.Name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.Value)))
	return append(b, c.Value...)
}

// NextClaim takes the first record off b; its parts are views of b. ok is false at the end of b.
func NextClaim(b []byte) (c Claim, rest []byte, ok bool) {
	if len(b) < 4 {
		return Claim{}, nil, false
	}
	c.Kind = ClaimKind(binary.LittleEndian.Uint32(b))
	if c.Name, b, ok = counted(b[4:]); !ok {
		return Claim{}, nil, false
	}
	if c.Value, b, ok = counted(b); !ok {
		return Claim{}, nil, false
	}
	return c, b, true
}

// counted takes bytes behind their length off b.
func counted(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n, b := uint64(binary.LittleEndian.Uint32(b)), b[4:]
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
