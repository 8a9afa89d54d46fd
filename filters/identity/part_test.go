package identity

import (
	"strings"
	"testing"

	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

var all = []Source{Peer, Client, Route, Header, Claim, Const}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text    string
		allowed []Source
		want    Part
		wrong   string
	}{
		{"peer", all, Part{Peer, ""}, ""},
		{"client", all, Part{Client, ""}, ""},
		{"route", all, Part{Route, ""}, ""},
		{"header:X-A", all, Part{Header, "X-A"}, ""},
		{"claim:tenant:id", all, Part{Claim, "tenant:id"}, ""},
		{"const:a b", all, Part{Const, "a b"}, ""},
		{"header:a b", all, Part{}, `header: wants the name of a header, like header:X-Tenant, not "a b"`},
		{"header:", all, Part{}, `header: wants the name of a header, like header:X-Tenant, not ""`},
		{"claim:", all, Part{}, `claim: wants the name of a claim, like claim:tenant_id, not ""`},
		{"const:" + strings.Repeat("x", 65), []Source{Const}, Part{}, `const: wants a text of 1 to 64 bytes, like const:all, not "` + strings.Repeat("x", 65) + `"`},
		{"peers", all, Part{}, `must be peer, client, route, header:NAME, claim:NAME or const:TEXT, not "peers"`},
		{"", all, Part{}, `must be peer, client, route, header:NAME, claim:NAME or const:TEXT, not ""`},
		{"route", []Source{Peer, Claim}, Part{}, `must be peer or claim:NAME, not "route"`},
	} {
		got, wrong := Parse(c.text, c.allowed...)
		if got != c.want || wrong != c.wrong {
			t.Errorf("%q: %+v, %s", c.text, got, wrong)
		}
	}
}

// keyOf is the key of a request, or the detail of the problem.
func keyOf(t *testing.T, r guesttest.Request, entries ...string) string {
	t.Helper()
	var parts []Part
	for _, e := range entries {
		p, wrong := Parse(e, all...)
		if wrong != "" {
			t.Fatal(wrong)
		}
		parts = append(parts, p)
	}
	var got string
	guesttest.New(t).Request(func() int32 {
		return guest.OnRequest(func(r *guest.Request) {
			var key guest.Key
			wrong := Add(parts, r, &key)
			var b []byte
			if wrong == nil {
				b, wrong = Bytes(&key)
			}
			got = string(b)
			if wrong != nil {
				got = wrong.Detail
			}
		})
	}, r)
	return got
}

func TestKeys(t *testing.T) {
	r := guesttest.Request{
		Peer: "192.0.2.1", Client: "2001:db8::1", Route: "/r",
		Header:     []guesttest.Field{{Name: "X-A", Value: "a"}, {Name: "X-Two", Value: "1"}, {Name: "X-Two", Value: "1"}, {Name: "X-Empty", Value: ""}, {Name: "X-Long", Value: strings.Repeat("x", 1023)}},
		Properties: []guesttest.Field{{Name: "auth/claim.tenant", Value: "t"}},
	}
	for _, c := range []struct {
		entries string
		want    string
	}{
		{"peer client route", "\x09\x00192.0.2.1\x0b\x002001:db8::1\x02\x00/r"},
		{"header:x-a claim:tenant const:c", "\x01\x00a\x01\x00t\x01\x00c"},
		{"header:X-None", missingHeader.Detail},
		{"header:X-Empty", missingHeader.Detail},
		{"header:X-Two", repeatedHeader.Detail},
		{"claim:plan", missingClaim.Detail},
		{"header:X-Long", tooLong.Detail},
	} {
		if got := keyOf(t, r, strings.Fields(c.entries)...); got != c.want {
			t.Errorf("%s: %q, want %q", c.entries, got, c.want)
		}
	}
	if keyOf(t, r, "const:ab", "const:c") == keyOf(t, r, "const:a", "const:bc") {
		t.Error("parts run together")
	}
}

// Whatever is written in a configuration: an entry is a part or has a reason why it is none.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"peer", "header:X", "header:", "claim:a", "const:b", "x:y", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, wrong := Parse(s, all...)
		if (wrong == "") != (spellings[p.source]+p.text == s) {
			t.Errorf("%q is %+v, %q", s, p, wrong)
		}
	})
}
