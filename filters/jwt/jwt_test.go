package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/guesttest"
)

var exports = guesttest.Filter{Configure: porchConfigure, Request: porchRequest}

// The same scripts run over the built module in filters/golden_test.go.
func TestGolden(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			guesttest.Script(t, path, guesttest.New(t), exports)
		})
	}
}

// configured is a host with the filter and these further keys.
func configured(t *testing.T, more string) *guesttest.Host {
	t.Helper()
	h := guesttest.New(t)
	if !h.Configure(porchConfigure, `{"algorithms": ["HS256"], "key": {"env": "K"}, "issuer": "i", "audience": "a"`+more+`}`) {
		t.Fatal(h.Rejections)
	}
	return h
}

func bearing(text string) guesttest.Request {
	return guesttest.Request{Header: []guesttest.Field{{Name: "authorization", Value: "Bearer " + text}, {Name: "X-Other", Value: "v"}}}
}

func TestTokenIsTakenOut(t *testing.T) {
	for more, want := range map[string]int{``: 2, `, "remove": false`: 2, `, "remove": true`: 1} {
		h := configured(t, more)
		h.Tokens["good"] = guesttest.Token{Claims: `{}`}
		if x := h.Request(porchRequest, bearing("good")); x.Status != 0 || len(x.Request.Header) != want {
			t.Errorf("%s: %d %v", more, x.Status, x.Request.Header)
		}
	}
}

// All claims go on or none: a missing one would be taken for one that the token does not have.
func TestClaimsThatDoNotFit(t *testing.T) {
	numbered := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"c%d":%d`, i, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `","b":1}` }
	for name, c := range map[string]struct {
		more, claims string
		status       int
	}{
		"as many as fit":           {``, numbered(mostClaims), 0},
		"one more":                 {``, numbered(mostClaims + 1), 401},
		"one more, and some named": {`, "claims": ["c1", "c32"]`, numbered(mostClaims + 1), 0},
		"as large as fits":         {``, long(abi.MaxProperty), 0},
		"larger":                   {``, long(abi.MaxProperty + 1), 401},
		"larger, and not named":    {`, "claims": ["b"]`, long(abi.MaxProperty + 1), 0},
		"larger, and named":        {`, "claims": ["a"]`, long(abi.MaxProperty + 1), 401},
		"a large subject":          {`, "claims": []`, `{"sub":"` + strings.Repeat("x", abi.MaxProperty+1) + `"}`, 401},
		"a name as long as fits":   {``, `{"` + strings.Repeat("n", 122) + `":1}`, 0},
		"a longer name":            {``, `{"` + strings.Repeat("n", 123) + `":1}`, 0},
	} {
		h := configured(t, c.more)
		h.Tokens["good"] = guesttest.Token{Claims: c.claims}
		if x := h.Request(porchRequest, bearing("good")); x.Status != c.status || x.Failed {
			t.Errorf("%s: %d %s", name, x.Status, x.Body)
		}
	}
}

// No room is left where other filters have taken it.
func TestPropertiesOfOthers(t *testing.T) {
	h := configured(t, "")
	h.Tokens["good"] = guesttest.Token{Claims: `{"a":1,"b":2}`}
	r := bearing("good")
	for i := range abi.MaxProperties - 1 {
		r.Properties = append(r.Properties, guesttest.Field{Name: fmt.Sprintf("other/%d", i), Value: "v"})
	}
	if x := h.Request(porchRequest, r); x.Status != 401 {
		t.Errorf("%d", x.Status)
	}
}

func TestTokenThatIsTooLong(t *testing.T) {
	h := configured(t, "")
	if x := h.Request(porchRequest, bearing(strings.Repeat("x", abi.MaxToken+1))); x.Status != 401 {
		t.Errorf("%d", x.Status)
	}
}
