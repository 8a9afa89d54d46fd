package guest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// Object reads one mapping of the configuration. A reader is asked for by name, narrowed, and ended by Or
// (with what holds where the key is not there) or Required:
//
//	limit := o.Int("limit").In(1, abi.MaxCost).Required()
//	ttl := o.Duration("ttl").In(time.Second, 30*24*time.Hour).Or(24 * time.Hour)
//
// All mistakes are told to the operator, not just the first: the handler goes on, and Config.Rejected says
// at the end whether there were any.
type Object struct {
	c       *Config
	node    *node
	pointer string
	asked   []string
	inner   []*Object
}

// Pointer returns the JSON pointer of a key, or of an item in it, for Config.Reject.
func (o *Object) Pointer(key string, item ...int) string {
	p := o.pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	for _, i := range item {
		p += "/" + strconv.Itoa(i)
	}
	return p
}

// Int reads a whole number.
func (o *Object) Int(key string) *Number[int64] {
	return number(o, key, "a whole number", formatInt, func(n *node) (int64, bool) {
		if n.kind != kindNumber {
			return 0, false
		}
		v, err := strconv.ParseInt(n.text, 10, 64)
		return v, err == nil
	})
}

// Duration reads a duration like "90s", "1m" or "1h30m".
func (o *Object) Duration(key string) *Number[time.Duration] {
	return number(o, key, `a duration like "90s" or "1h30m"`, formatDuration, func(n *node) (time.Duration, bool) {
		if n.kind != kindString {
			return 0, false
		}
		v, err := time.ParseDuration(n.text)
		return v, err == nil
	})
}

// Size reads a number of bytes: 512, "64KiB", "1MiB", "2MB".
func (o *Object) Size(key string) *Number[int64] {
	return number(o, key, `a size like "512B" or "1MiB"`, formatSize, func(n *node) (int64, bool) {
		if n.kind != kindString && n.kind != kindNumber {
			return 0, false
		}
		return parseSize(n.text)
	})
}

// Bool reads true or false; it is def where the key is not there.
func (o *Object) Bool(key string, def bool) bool {
	n := o.ask(key)
	if n == nil {
		return def
	}
	if n.kind != kindBool {
		o.reject(key, "must be true or false, not "+n.String())
		return def
	}
	return n.text == "true"
}

// Text reads a string.
func (o *Object) Text(key string) *Text {
	t := &Text{o: o, key: key, node: o.ask(key)}
	if t.node != nil && t.node.kind != kindString {
		o.reject(key, "must be a string, not "+t.node.String())
		t.bad = true
	}
	return t
}

// Texts reads a list of strings.
func (o *Object) Texts(key string) *Texts {
	t := &Texts{o: o, key: key, node: o.ask(key)}
	if t.node == nil {
		return t
	}
	if t.node.kind != kindArray {
		o.reject(key, "must be a list of strings, not "+t.node.String())
		t.bad = true
		return t
	}
	for i := range t.node.items {
		if item := &t.node.items[i]; item.kind != kindString {
			o.c.Reject(o.Pointer(key, i), "must be a string, not "+item.String())
			t.bad = true
		}
	}
	return t
}

// Object reads a mapping in the mapping; nil where the key is not there.
func (o *Object) Object(key string) *Object {
	n := o.ask(key)
	if n == nil {
		return nil
	}
	if n.kind != kindObject {
		o.reject(key, "must be a mapping, not "+n.String())
		return nil
	}
	inner := &Object{c: o.c, node: n, pointer: o.Pointer(key)}
	o.inner = append(o.inner, inner)
	return inner
}

// ask notes that the key is known; null counts as not there.
func (o *Object) ask(key string) *node {
	o.asked = append(o.asked, key)
	n := o.node.member(key)
	if n == nil || n.kind == kindNull {
		return nil
	}
	return n
}

func (o *Object) reject(key, reason string) { o.c.Reject(o.Pointer(key), reason) }

func (o *Object) rejectUnknown() {
	for i := range o.node.members {
		if name := o.node.members[i].name; !slices.Contains(o.asked, name) {
			o.reject(name, "unknown key "+quote(name)+didYouMean(name, o.asked))
		}
	}
	for _, inner := range o.inner {
		inner.rejectUnknown()
	}
}

// didYouMean suggests the nearest of the allowed words, or lists them all.
func didYouMean(word string, allowed []string) string {
	if s := suggestion(word, allowed); s != "" || len(allowed) == 0 {
		return s
	}
	return "; allowed: " + strings.Join(allowed, ", ")
}

// suggestion names the nearest of the allowed words, if one is near.
func suggestion(word string, allowed []string) string {
	best, distance := "", min(len(word)/2+1, 4)
	for _, a := range allowed {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(a)); d < distance {
			best, distance = a, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + quote(best) + "?"
}

// String shows a value to the operator who wrote it.
func (n *node) String() string {
	switch n.kind {
	case kindString:
		return quote(n.text)
	case kindNumber, kindBool:
		return n.text
	default:
		return n.kind.String()
	}
}
