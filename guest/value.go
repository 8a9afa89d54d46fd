package guest

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Number reads a number of some unit.
type Number[T ~int64] struct {
	o       *Object
	key     string
	present bool
	bad     bool
	value   T
	format  func(T) string
}

func number[T ~int64](o *Object, key, what string, format func(T) string, parse func(*node) (T, bool)) *Number[T] {
	v := &Number[T]{o: o, key: key, format: format}
	n := o.ask(key)
	if n == nil {
		return v
	}
	v.present = true
	value, ok := parse(n)
	if !ok {
		o.reject(key, "must be "+what+", not "+n.String())
		v.bad = true
	}
	v.value = value
	return v
}

// In bounds the number, both ends included.
func (v *Number[T]) In(least, most T) *Number[T] {
	if v.present && !v.bad && (v.value < least || v.value > most) {
		v.o.reject(v.key, "must be between "+v.format(least)+" and "+v.format(most)+", not "+v.format(v.value))
		v.bad = true
	}
	return v
}

// Or returns the number, or def where the key is not there.
func (v *Number[T]) Or(def T) T {
	if !v.present {
		return def
	}
	return v.value
}

// Required returns the number; a configuration without it is a mistake.
func (v *Number[T]) Required() T {
	if !v.present {
		v.o.reject(v.key, "is required")
	}
	return v.value
}

// Text reads a string.
type Text struct {
	o    *Object
	key  string
	node *node
	bad  bool
}

// OneOf bounds the string to some words.
func (t *Text) OneOf(words ...string) *Text {
	if t.node != nil && !t.bad && !slices.Contains(words, t.node.text) {
		t.o.reject(t.key, notOneOf(t.node.text, words))
		t.bad = true
	}
	return t
}

// Check bounds the string by a rule, which returns what is wrong with it, or nothing.
func (t *Text) Check(rule func(string) (wrong string)) *Text {
	if t.node != nil && !t.bad {
		if wrong := rule(t.node.text); wrong != "" {
			t.o.reject(t.key, wrong)
			t.bad = true
		}
	}
	return t
}

// Or returns the string, or def where the key is not there.
func (t *Text) Or(def string) string {
	if t.node == nil {
		return def
	}
	return t.node.text
}

// Required returns the string; a configuration without it is a mistake.
func (t *Text) Required() string {
	if t.node == nil {
		t.o.reject(t.key, "is required")
	}
	return t.Or("")
}

// Texts reads a list of strings.
type Texts struct {
	o    *Object
	key  string
	node *node
	bad  bool
}

// OneOf bounds each string of the list to some words, each at most once.
func (t *Texts) OneOf(words ...string) *Texts {
	t.Check(func(s string) string {
		if slices.Contains(words, s) {
			return ""
		}
		return notOneOf(s, words)
	})
	return t.Distinct()
}

// Distinct has each string stand at most once.
func (t *Texts) Distinct() *Texts {
	seen := make([]string, 0, t.len())
	return t.Check(func(s string) string {
		if slices.Contains(seen, s) {
			return quote(s) + " stands there twice"
		}
		seen = append(seen, s)
		return ""
	})
}

// Len bounds how many strings there are.
func (t *Texts) Len(least, most int) *Texts {
	if n := t.len(); t.node != nil && !t.bad && (n < least || n > most) {
		t.o.reject(t.key, "must have "+strconv.Itoa(least)+" to "+strconv.Itoa(most)+" entries, not "+strconv.Itoa(n))
		t.bad = true
	}
	return t
}

// Check bounds each string of the list by a rule, which returns what is wrong with it, or nothing.
func (t *Texts) Check(rule func(string) (wrong string)) *Texts {
	if t.bad {
		return t
	}
	for i := range t.len() {
		if wrong := rule(t.node.items[i].text); wrong != "" {
			t.o.c.Reject(t.o.Pointer(t.key, i), wrong)
			t.bad = true
		}
	}
	return t
}

// Or returns the strings, or def where the key is not there.
func (t *Texts) Or(def ...string) []string {
	if t.node == nil {
		return def
	}
	list := make([]string, t.len())
	for i := range list {
		list[i] = t.node.items[i].text
	}
	return list
}

func (t *Texts) len() int {
	if t.node == nil {
		return 0
	}
	return len(t.node.items)
}

func notOneOf(word string, words []string) string {
	return "must be one of " + strings.Join(words, ", ") + ", not " + quote(word) + suggestion(word, words)
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// formatDuration drops the parts that are zero: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// units of sizes, the larger first; the text is matched without regard to case.
var units = []struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}, {"B", 1},
}

// parseSize reads a whole number of bytes with an optional unit.
func parseSize(text string) (int64, bool) {
	digits := strings.TrimRight(text, "bBgGiIkKmM ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(digits, "+") {
		return 0, false
	}
	unit := strings.TrimLeft(text[len(digits):], " ")
	if unit == "" {
		return n, true
	}
	for _, u := range units {
		if strings.EqualFold(unit, u.name) {
			return n * u.bytes, n <= (1<<63-1)/u.bytes
		}
	}
	return 0, false
}

// formatSize uses the largest binary unit that leaves no rest.
func formatSize(n int64) string {
	for _, u := range units {
		if u.bytes&(u.bytes-1) == 0 && n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
