package guest_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

var tokenSpec = abi.VerifierSpec{
	Algorithms: []string{"HS256", "ES256"}, Key: abi.KeySpec{JWKS: `a"b`}, Issuer: "i", Audience: "a", LeewayMS: 1000,
}

func TestVerify(t *testing.T) {
	h := guesttest.New(t)
	var v guest.Verifier
	if !h.Configure(func() int32 {
		return guest.Configure(func(c *guest.Config) { v = c.Verifier(c.Object(), tokenSpec) })
	}, `{}`) {
		t.Fatal(h.Rejections)
	}
	h.Tokens["good"] = guesttest.Token{Claims: `{"sub":"u","n":1,"nil":null,"list":["a"]}`}
	h.Tokens["large"] = guesttest.Token{Claims: `{"x":"` + strings.Repeat("x", 15<<10) + `","y":true}`}
	h.Tokens["old"] = guesttest.Token{Condition: abi.Expired}
	h.Tokens["new"] = guesttest.Token{Condition: abi.Early}
	on(t, h, guesttest.Request{Body: []byte("body")}, func(r *guest.Request) {
		for token, want := range map[string]error{
			"good": nil, "large": nil, "old": guest.ErrExpired, "new": guest.ErrEarly, "unknown": guest.ErrUntrusted, "": guest.ErrUntrusted,
			strings.Repeat("x", abi.MaxToken+1): guest.ErrTooLarge,
		} {
			if _, err := r.Verify(v, []byte(token)); !errors.Is(err, want) {
				t.Errorf("%.10q: %v", token, err)
			}
		}
		claims, _ := r.Verify(v, []byte("good"))
		if c, ok := claims.Get("list"); !ok || c.Kind != abi.ClaimJSON || string(c.Value) != `["a"]` {
			t.Errorf("%v %+v", ok, c)
		}
		if _, ok := claims.Get("nil"); ok {
			t.Error("null is there")
		}
		var names []string
		for c, ok := claims.Next(); ok; c, ok = claims.Next() {
			names = append(names, string(c.Name))
		}
		if !slices.Equal(names, []string{"sub", "n", "list"}) {
			t.Errorf("%q", names)
		}
		// Longer than the memory that is at hand.
		claims, _ = r.Verify(v, []byte("large"))
		if c, ok := claims.Get("x"); !ok || len(c.Value) != 15<<10 {
			t.Errorf("%v, %d bytes", ok, len(c.Value))
		}
		if c, ok := claims.Get("y"); !ok || c.Kind != abi.ClaimBool {
			t.Errorf("%v %+v", ok, c)
		}
		sum := sha256.Sum256([]byte("body"))
		if hash, ok := r.BodyHash(); !ok || string(hash) != string(sum[:]) {
			t.Errorf("%v %x", ok, hash)
		}
	})
}

// Specs are written by hand, so they are read back here by the names of the contract's struct.
func TestVerifierSpecIsThatOfTheContract(t *testing.T) {
	h := guesttest.New(t)
	least := abi.VerifierSpec{Algorithms: []string{"EdDSA"}, Key: abi.KeySpec{Env: "KEY"}, Issuer: "i", Audience: "a"}
	file := least
	file.Key = abi.KeySpec{File: "key"}
	all := []abi.VerifierSpec{tokenSpec, least, file}
	if !h.Configure(func() int32 {
		return guest.Configure(func(c *guest.Config) {
			for _, s := range all {
				c.Verifier(c.Object(), s)
			}
		})
	}, `{}`) {
		t.Fatal(h.Rejections)
	}
	for i, s := range all {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if h.Verifiers[i] != string(want) {
			t.Errorf("got %s, want %s", h.Verifiers[i], want)
		}
	}
}

func TestVerifierThatTheHostRefuses(t *testing.T) {
	for pointer, change := range map[string]func(s *abi.VerifierSpec){
		"/tokens/algorithms": func(s *abi.VerifierSpec) { s.Algorithms = []string{"none"} },
		"/tokens/key":        func(s *abi.VerifierSpec) { s.Key.Env = "KEY" },
		"/tokens/issuer":     func(s *abi.VerifierSpec) { s.Issuer = "" },
		"/tokens/audience":   func(s *abi.VerifierSpec) { s.Audience = "" },
		"/tokens/leeway":     func(s *abi.VerifierSpec) { s.LeewayMS = abi.MaxLeewayMS + 1 },
	} {
		wrong := configured(t, `{"tokens": {}}`, func(c *guest.Config) {
			s := tokenSpec
			change(&s)
			c.Verifier(c.Object().Object("tokens"), s)
		})
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], pointer+": ") {
			t.Errorf("%s: %q", pointer, wrong)
		}
	}
}
