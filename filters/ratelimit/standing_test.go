package main

import (
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

func TestSharesCompareExactly(t *testing.T) {
	numbers := rapid.Uint64Range(0, abi.MaxCost)
	rapid.Check(t, func(t *rapid.T) {
		a := share{numbers.Draw(t, "remaining"), 1 + numbers.Draw(t, "limit")}
		b := share{numbers.Draw(t, "remaining"), 1 + numbers.Draw(t, "limit")}
		want := ratio(a).Cmp(ratio(b)) < 0
		if a.below(b) != want {
			t.Fatalf("%v below %v: %t", a, b, !want)
		}
	})
}

func ratio(s share) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(s.remaining), new(big.Int).SetUint64(s.limit))
}

func TestStandingComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, abi.MaxCost).Draw(t, "limit")
		w := word("f", abi.LimitSpec{Limit: limit, WindowMS: 1})
		v := guest.Verdict{
			Remaining: rapid.Int64Range(0, limit).Draw(t, "remaining"),
			ResetAt:   rapid.Int64Range(0, 1<<50).Draw(t, "reset"),
		}
		s := w.stand(&v)
		back, left, ok := parseStanding(s.text)
		if !ok || left.limit != uint64(limit) || left.remaining != uint64(v.Remaining) || string(back.resetAt) != string(s.resetAt) {
			t.Fatalf("%q came back as %v", s.text, left)
		}
	})
}

// Whatever a filter is called, its fields are structured fields that a parser of RFC 9651 reads.
func TestFieldsAreStructured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		w := word(name, abi.LimitSpec{Limit: 100, WindowMS: 1500})
		policy := item(t, string(w.policy))
		if q, _ := policy.Params.Get("q"); q != int64(100) {
			t.Fatalf("q is %v", q)
		}
		if window, _ := policy.Params.Get("w"); window != int64(2) {
			t.Fatalf("w is %v", window)
		}
		rest := item(t, string(w.rest([]byte("57"), 24)))
		if r, _ := rest.Params.Get("r"); r != int64(57) || rest.Value != policy.Value {
			t.Fatalf("r is %v", r)
		}
		if isASCII(name) && policy.Value != name {
			t.Fatalf("the name is %q", policy.Value)
		}
	})
}

func item(t *rapid.T, field string) httpsfv.Item {
	list, err := httpsfv.UnmarshalList([]string{field})
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %v", field, err)
	}
	return list[0].(httpsfv.Item)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Addresses of one network by prefix are one client, others are not, and an IPv4 address is the same client in
// whichever form it comes.
func TestAddressesByPrefix(t *testing.T) {
	octets := rapid.SliceOfN(rapid.Byte(), 16, 16)
	rapid.Check(t, func(t *rapid.T) {
		a, _ := netip.AddrFromSlice(octets.Draw(t, "a"))
		b, _ := netip.AddrFromSlice(octets.Draw(t, "b"))
		if rapid.Bool().Draw(t, "near") {
			raw := a.As16()
			raw[rapid.IntRange(0, 15).Draw(t, "octet")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			b = netip.AddrFrom16(raw)
		}
		if a.Is4In6() || b.Is4In6() {
			return
		}
		prefix := rapid.IntRange(1, 128).Draw(t, "prefix")
		network, err := a.Prefix(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if same := addressKey(t, a.String(), prefix) == addressKey(t, b.String(), prefix); same != network.Contains(b) {
			t.Fatalf("%s and %s by /%d: one client %t", a, b, prefix, same)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := octets.Draw(t, "a")
		v4 := netip.AddrFrom4([4]byte(raw[:4]))
		mapped := netip.AddrFrom16(v4.As16())
		if addressKey(t, v4.String(), 64) != addressKey(t, mapped.String(), 64) {
			t.Fatalf("%s and %s are two clients", v4, mapped)
		}
	})
}

func addressKey(t *rapid.T, text string, prefix int) string {
	var k guest.Key
	if !addAddress(&k, []byte(text), prefix) {
		t.Fatalf("%s is no address", text)
	}
	b, _ := k.Bytes()
	return string(b)
}
