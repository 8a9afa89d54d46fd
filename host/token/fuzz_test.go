package token

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/porchedge/porch/abi"
)

// FuzzVerify holds that no text but a token itself is taken for it.
func FuzzVerify(f *testing.F) {
	k := keys()
	v := open(f, string(k.secret), "HS256")
	good := sign("HS256", k.secret, claims())
	for _, seed := range []string{
		good, good + "=", good[:len(good)-1], "", "..", "a.b.c", part(`{"alg":"none"}`) + "." + part("{}") + ".",
		part(`{"alg":"HS256","crit":["b64"],"b64":false}`) + ".AA.AA", part(`{"alg":"HS256","x5c":["AA"]}`) + ".AA.AA",
		part(`{"alg":"HS256","jwk":{"kty":"oct","k":"AA"}}`) + ".AA.AA",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, outcome := v.Verify(nil, text)
		if outcome == Good && string(text) != good {
			t.Errorf("taken for good: %q", text)
		}
		if outcome != Good && list != nil {
			t.Errorf("%v with claims", outcome)
		}
	})
}

// FuzzClaims holds that claims are told as encoding/json understands them.
func FuzzClaims(f *testing.F) {
	k := keys()
	v := open(f, string(k.secret), "HS256")
	for _, seed := range []string{claims(), claims("nbf", 1, "x", []int{1}), `{"a":1,"a":2}`, `{}`, `[]`, `{"exp":1e400}`, `{"aud":[[]]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		list, outcome := v.Verify(nil, []byte(forge(k.secret, `{"alg":"HS256"}`, string(payload))))
		if outcome != Good {
			return
		}
		var want map[string]any
		d := json.NewDecoder(bytes.NewReader(payload))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("good, and no JSON: %v", err)
		}
		maps.DeleteFunc(want, func(_ string, value any) bool { return value == nil })
		for c, rest, ok := abi.NextClaim(list); ok; c, rest, ok = abi.NextClaim(rest) {
			value, known := want[string(c.Name)]
			if !known || !same(c, value) {
				t.Errorf("%q is %d %q, want %v", c.Name, c.Kind, c.Value, value)
			}
			delete(want, string(c.Name))
		}
		if len(want) > 0 {
			t.Errorf("not told: %v", slices.Sorted(maps.Keys(want)))
		}
	})
}

func same(c abi.Claim, value any) bool {
	switch v := value.(type) {
	case string:
		return c.Kind == abi.ClaimText && string(c.Value) == v
	case json.Number:
		return c.Kind == abi.ClaimNumber && string(c.Value) == v.String()
	case bool:
		return c.Kind == abi.ClaimBool && string(c.Value) == map[bool]string{true: "true", false: "false"}[v]
	default:
		return c.Kind == abi.ClaimJSON && json.Valid(c.Value)
	}
}

// FuzzKeys holds that whatever is read as a key serves the algorithm it was read for.
func FuzzKeys(f *testing.F) {
	k := keys()
	f.Add([]byte(publicPEM(k.rsa)))
	f.Add([]byte(publicPEM(k.ec)))
	f.Add([]byte(set(jwk("1", &k.ec.PublicKey), jwk("2", k.secret))))
	f.Add(k.secret)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, algorithm := range abi.TokenAlgorithms() {
			for _, parse := range []func([]byte, []string) (*keySet, error){parseKey, parseKeySet} {
				s, err := parse(text, []string{algorithm})
				if (s == nil) == (err == nil) {
					t.Fatalf("%v and %v", s, err)
				}
				if err == nil && (len(s.keys) == 0 || !s.keys[0].serves(algorithm)) {
					t.Errorf("a key for %s that does not serve it", algorithm)
				}
			}
		}
	})
}
