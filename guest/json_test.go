package guest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseJSONRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":              "",
		"space":              " \n",
		"two values":         "1 2",
		"open object":        `{"a":1`,
		"open list":          `[1,`,
		"comma at the end":   `[1,]`,
		"no colon":           `{"a" 1}`,
		"name twice":         `{"a":1,"b":2,"a":3}`,
		"name is no string":  `{1:2}`,
		"leading zero":       "01",
		"plus":               "+1",
		"no digits":          "-",
		"no fraction":        "1.",
		"no exponent":        "1e+",
		"half a word":        "tru",
		"control in string":  "\"a\x01\"",
		"unknown escape":     `"\x"`,
		"half an escape":     `"\u12`,
		"lone surrogate":     `"\ud800"`,
		"surrogate and text": `"\ud800ab"`,
		"not UTF-8":          "\"\xff\"",
		"too deep":           strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2),
	} {
		if _, err := parseJSON([]byte(text)); err == nil {
			t.Errorf("%s: %q was accepted", name, text)
		}
	}
}

// What this reader accepts the standard one accepts, with the same values.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"limit": 100, "window": "1m", "key": ["peer"], "x": {"y": [true, false, null, -1.5e3]}}`,
		`"\u00e9\ud83d\ude00\n\"\\\/"`, `9007199254740993`, ` [ ] `, `{}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ours, err := parseJSON([]byte(text))
		if err != nil {
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var theirs any
		if err := d.Decode(&theirs); err != nil {
			t.Fatalf("%q: accepted here, refused by encoding/json: %v", text, err)
		}
		if !same(ours, theirs) {
			t.Fatalf("%q: %+v is not %v", text, ours, theirs)
		}
	})
}

func same(n *node, v any) bool {
	switch v := v.(type) {
	case nil:
		return n.kind == kindNull
	case bool:
		return n.kind == kindBool && (n.text == "true") == v
	case json.Number:
		return n.kind == kindNumber && n.text == v.String()
	case string:
		return n.kind == kindString && n.text == v
	case []any:
		if n.kind != kindArray || len(n.items) != len(v) {
			return false
		}
		for i := range v {
			if !same(&n.items[i], v[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if n.kind != kindObject || len(n.members) != len(v) {
			return false
		}
		for i := range n.members {
			other, ok := v[n.members[i].name]
			if !ok || !same(&n.members[i].value, other) {
				return false
			}
		}
		return true
	}
	return false
}

func FuzzAppendQuoted(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\"b\\c", "\x00\x1f\x7f<>&\u2028", "\xff\xfe", "日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var back string
		if err := json.Unmarshal(appendQuoted(nil, text), &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if utf8.ValidString(text) && back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}
