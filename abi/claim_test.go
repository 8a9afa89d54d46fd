package abi

import (
	"encoding/hex"
	"testing"
)

// The bytes of claims are those of the contract, and what is cut short is not read.
func TestClaimBytes(t *testing.T) {
	b := AppendClaim(nil, Claim{ClaimNumber, []byte("n"), []byte("12")})
	b = AppendClaim(b, Claim{ClaimText, []byte("s"), nil})
	const want = "02000000" + "01000000" + "6e" + "02000000" + "3132" + "01000000" + "01000000" + "73" + "00000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got %s", got)
	}
	first, rest, ok := NextClaim(b)
	if !ok || first.Kind != ClaimNumber || string(first.Name) != "n" || string(first.Value) != "12" {
		t.Errorf("%v %+v", ok, first)
	}
	second, rest, ok := NextClaim(rest)
	if !ok || second.Kind != ClaimText || string(second.Name) != "s" || len(second.Value) != 0 || len(rest) != 0 {
		t.Errorf("%v %+v, %d more", ok, second, len(rest))
	}
	for n := range 15 {
		if c, _, ok := NextClaim(b[:n]); ok {
			t.Errorf("%d bytes give %+v", n, c)
		}
	}
}

func TestScalarKinds(t *testing.T) {
	for kind, want := range map[ClaimKind]bool{0: false, ClaimText: true, ClaimNumber: true, ClaimBool: true, ClaimJSON: false, 5: false} {
		if kind.Scalar() != want {
			t.Errorf("kind %d: %v", kind, !want)
		}
	}
}
