package guest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

// configured runs a configuration and returns what was rejected, one "pointer: reason" each.
func configured(t *testing.T, text string, handle func(*guest.Config)) []string {
	t.Helper()
	h := guesttest.New(t)
	accepted := h.Configure(func() int32 { return guest.Configure(handle) }, text)
	var wrong []string
	for _, r := range h.Rejections {
		wrong = append(wrong, r.Pointer+": "+r.Reason)
	}
	if accepted != (len(wrong) == 0) {
		t.Errorf("accepted %t with mistakes %q", accepted, wrong)
	}
	return wrong
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		`0`: 0, `512`: 512, `"7"`: 7, `"512B"`: 512, `"64KiB"`: 64 << 10, `"1MiB"`: 1 << 20, `"2 GiB"`: 2 << 30,
		`"3kb"`: 3000, `"1MB"`: 1e6, `"1gb"`: 1e9,
		`"8589934591GiB"`: 8589934591 << 30,
		`"8589934592GiB"`: -1, `-1`: -1, `"-1B"`: -1, `"+1B"`: -1, `"MiB"`: -1, `"1.5MiB"`: -1, `"1 TiB"`: -1,
		`"1MiBs"`: -1, `""`: -1, `true`: -1, `"1KK"`: -1, `1e3`: -1,
	} {
		got := int64(-1)
		wrong := configured(t, `{"size": `+text+`}`, func(c *guest.Config) {
			if v := c.Object().Size("size").Or(-2); !c.Rejected() {
				got = v
			}
		})
		if got != want || (want < 0) != (len(wrong) == 1) {
			t.Errorf("%s: got %d, want %d; mistakes %q", text, got, want, wrong)
		}
	}
}

func TestBoundsReadAsTheyAreWritten(t *testing.T) {
	wrong := configured(t, `{"d": "2h", "s": "3MiB", "n": 7}`, func(c *guest.Config) {
		o := c.Object()
		o.Duration("d").In(90*time.Second, time.Hour).Or(0)
		o.Size("s").In(1, 1536<<10).Or(0)
		o.Int("n").In(8, 9).Or(0)
	})
	want := []string{
		"/d: must be between 1m30s and 1h, not 2h",
		"/s: must be between 1B and 1536KiB, not 3MiB",
		"/n: must be between 8 and 9, not 7",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("got %q", wrong)
	}
}

func TestNestedObjectsHaveTheirPointers(t *testing.T) {
	wrong := configured(t, `{"a/b~": {"limt": 1, "list": ["x", "y"]}, "c": 3}`, func(c *guest.Config) {
		inner := c.Object().Object("a/b~")
		inner.Int("limit").Required()
		inner.Texts("list").Check(func(s string) string {
			if s == "y" {
				return "no y"
			}
			return ""
		}).Or()
		c.Object().Object("c")
		if c.Object().Object("d") != nil {
			t.Error("an object that is not there")
		}
	})
	want := []string{
		"/a~1b~0/limit: is required",
		"/a~1b~0/list/1: no y",
		"/c: must be a mapping, not 3",
		`/a~1b~0/limt: unknown key "limt"; did you mean "limit"?`,
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("got %q", wrong)
	}
}

func TestPolicyThatTheHostRefuses(t *testing.T) {
	h := guesttest.New(t)
	accepted := h.Configure(func() int32 {
		return guest.Configure(func(c *guest.Config) {
			c.Limit("twice", abi.LimitSpec{Algorithm: abi.AlgorithmFixedWindow, Limit: 1, WindowMS: 1})
			c.Once("twice", abi.OnceSpec{TTLMS: 1, MaxWaitMS: 1, MaxWaiters: 1})
		})
	}, `{}`)
	if accepted {
		t.Error("accepted")
	}
}

// Specs are written by hand, so they are read back here by the names of the contract's struct.
func TestSpecsAreThoseOfTheContract(t *testing.T) {
	limit := abi.LimitSpec{Algorithm: "fixed-window", Limit: 1, WindowMS: 2, Durability: "none", MaxKeys: 3}
	once := abi.OnceSpec{TTLMS: 1, MaxWaitMS: 2, MaxWaiters: 3, MaxResponse: 4, Headers: []string{"A", `b"`}, MaxKeys: 5}
	h := guesttest.New(t)
	if !h.Configure(func() int32 {
		return guest.Configure(func(c *guest.Config) {
			c.Limit("limit", limit)
			c.Once("once", once)
			c.Limit("least", abi.LimitSpec{Algorithm: "fixed-window", Limit: 1, WindowMS: 1})
		})
	}, `{}`) {
		t.Fatal(h.Rejections)
	}
	for i, spec := range []any{limit, once, abi.LimitSpec{Algorithm: "fixed-window", Limit: 1, WindowMS: 1}} {
		want, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Policies[i].Spec; got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRules(t *testing.T) {
	for name, good := range map[string]bool{
		"X-Key": true, "a!#$%&'*+-.^_`|~9": true, "": false, "a b": false, "a:": false, "é": false,
		strings.Repeat("a", abi.MaxFieldName): true, strings.Repeat("a", abi.MaxFieldName+1): false,
	} {
		if got := guest.HeaderName(name) == ""; got != good {
			t.Errorf("header %q: %t", name, got)
		}
	}
	for name, good := range map[string]bool{
		"default": true, "A.b_c-9": true, "": false, "a/b": false, "a b": false,
		strings.Repeat("a", abi.MaxPolicyName): true, strings.Repeat("a", abi.MaxPolicyName+1): false,
	} {
		if got := guest.PolicyName(name) == ""; got != good {
			t.Errorf("policy %q: %t", name, got)
		}
	}
}
