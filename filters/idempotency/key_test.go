package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// Whatever a client sends: what is taken as a key is one, and the same key in quotes is the same key.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"k", `"k"`, `"k";a=1`, "k;a", `"a\"b\\c"`, "", `""`, `"`, `"a`, `a"b`, `"a\b"`, "a,b", `"a", "b"`, " k\t", "\x00", "é",
		strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat(`\\`, 255) + `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		sent := string(value)
		key, wrong := parseKey(bytes.Clone(value))
		if (key == nil) == (wrong == nil) {
			t.Fatalf("%q: key %q and problem %v", sent, key, wrong)
		}
		if wrong != nil {
			if wrong.Status != 400 {
				t.Fatalf("%q: status %d", sent, wrong.Status)
			}
			return
		}
		if len(key) < 1 || len(key) > longestKey {
			t.Fatalf("%q: a key of %d bytes", sent, len(key))
		}
		for _, c := range key {
			if c < ' ' || c > '~' {
				t.Fatalf("%q: key %q", sent, key)
			}
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(key)) + `"`
		again, wrong := parseKey([]byte(quoted))
		if wrong != nil || string(again) != string(key) {
			t.Fatalf("%q is %q, but %s is %q", sent, key, quoted, again)
		}
	})
}

// A value that is a string by RFC 9651 is the key that a parser of that RFC reads.
func FuzzQuotedKey(f *testing.F) {
	for _, seed := range []string{"k", `a"b`, `\`, " ", "a;b,c"} {
		f.Add(seed, "p", true)
	}
	f.Fuzz(func(t *testing.T, text, parameter string, has bool) {
		item := httpsfv.NewItem(text)
		if has {
			item.Params.Add(parameter, int64(1))
		}
		field, err := httpsfv.Marshal(item)
		if err != nil || text == "" || len(text) > longestKey {
			return
		}
		key, wrong := parseKey([]byte(field))
		if wrong != nil || string(key) != text {
			t.Fatalf("%s: key %q, problem %+v", field, key, wrong)
		}
	})
}
