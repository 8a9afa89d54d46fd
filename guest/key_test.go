package guest_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

// Two lists of parts make the same key only if they are the same list.
func TestKeyIsUnambiguous(t *testing.T) {
	parts := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 4), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		equal := slices.EqualFunc(a, b, bytes.Equal)
		if ka, kb := keyOf(a), keyOf(b); bytes.Equal(ka, kb) != equal {
			t.Fatalf("%v and %v: keys %v and %v", a, b, ka, kb)
		}
	})
}

func keyOf(parts [][]byte) []byte {
	var k guest.Key
	for _, p := range parts {
		k.Add(p)
	}
	b, _ := k.Bytes()
	return b
}

func TestKeyIsNeverCut(t *testing.T) {
	var k guest.Key
	k.Add(make([]byte, abi.MaxKey-2))
	if b, ok := k.Bytes(); !ok || len(b) != abi.MaxKey {
		t.Errorf("a key of %d bytes: %t", len(b), ok)
	}
	k.AddText("")
	if _, ok := k.Bytes(); ok {
		t.Error("a longer key was given")
	}
	k.Reset()
	k.AddText("a")
	if b, ok := k.Bytes(); !ok || string(b) != "\x01\x00a" {
		t.Errorf("after Reset: %q %t", b, ok)
	}
}
