package guest

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A strict reader of JSON (RFC 8259): no duplicate names, no text after the value, bounded depth. It keeps
// numbers as text, so 9007199254740993 stays what the operator wrote.

const maxDepth = 64

type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "a mapping"}[k]
}

type node struct {
	kind    nodeKind
	text    string // of a number, as written; of a string, decoded; "true" or "false"
	items   []node
	members []member
}

type member struct {
	name  string
	value node
}

func (n *node) member(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value
		}
	}
	return nil
}

var (
	errEnd       = errors.New("it ends too early")
	errSyntax    = errors.New("unexpected character")
	errDepth     = errors.New("nested too deeply")
	errDuplicate = errors.New("a name stands twice in one mapping")
	errString    = errors.New("broken string")
	errNumber    = errors.New("broken number")
)

func parseJSON(text []byte) (*node, error) {
	p := parser{text: text}
	var root node
	err := p.value(&root, 0)
	if err == nil {
		p.space()
		if p.at < len(p.text) {
			err = errSyntax
		}
	}
	if err != nil {
		return nil, errors.New(err.Error() + " at byte " + strconv.Itoa(p.at))
	}
	return &root, nil
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space; 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) accept(c byte) bool {
	if p.peek() == c && p.at < len(p.text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) unexpected() error {
	if p.at >= len(p.text) {
		return errEnd
	}
	return errSyntax
}

func (p *parser) value(n *node, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(n, depth)
	case c == '[':
		return p.array(n, depth)
	case c == '"':
		var err error
		n.kind = kindString
		n.text, err = p.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return p.number(n)
	case c == 't':
		return p.word(n, kindBool, "true")
	case c == 'f':
		return p.word(n, kindBool, "false")
	case c == 'n':
		return p.word(n, kindNull, "null")
	default:
		return p.unexpected()
	}
}

func (p *parser) word(n *node, kind nodeKind, word string) error {
	if len(p.text)-p.at < len(word) || string(p.text[p.at:p.at+len(word)]) != word {
		return p.unexpected()
	}
	p.at += len(word)
	n.kind, n.text = kind, word
	return nil
}

func (p *parser) object(n *node, depth int) error {
	n.kind = kindObject
	p.at++
	if p.accept('}') {
		return nil
	}
	for {
		if p.peek() != '"' {
			return p.unexpected()
		}
		name, err := p.str()
		if err != nil {
			return err
		}
		if n.member(name) != nil {
			return errDuplicate
		}
		if !p.accept(':') {
			return p.unexpected()
		}
		var v node
		if err := p.value(&v, depth+1); err != nil {
			return err
		}
		n.members = append(n.members, member{name, v})
		if p.accept('}') {
			return nil
		}
		if !p.accept(',') {
			return p.unexpected()
		}
	}
}

func (p *parser) array(n *node, depth int) error {
	n.kind = kindArray
	p.at++
	if p.accept(']') {
		return nil
	}
	for {
		var v node
		if err := p.value(&v, depth+1); err != nil {
			return err
		}
		n.items = append(n.items, v)
		if p.accept(']') {
			return nil
		}
		if !p.accept(',') {
			return p.unexpected()
		}
	}
}

// number takes what stands there by the grammar: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (p *parser) number(n *node) error {
	from := p.at
	p.one('-')
	if !p.one('0') && !p.digits() {
		return errNumber
	}
	if p.one('.') && !p.digits() {
		return errNumber
	}
	if p.one('e') || p.one('E') {
		if !p.one('+') {
			p.one('-')
		}
		if !p.digits() {
			return errNumber
		}
	}
	n.kind, n.text = kindNumber, string(p.text[from:p.at])
	return nil
}

func (p *parser) one(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}

func (p *parser) str() (string, error) {
	p.at++
	var b []byte
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if !utf8.Valid(b) {
				return "", errString
			}
			return string(b), nil
		case c < ' ':
			return "", errString
		case c == '\\':
			p.at++
			var err error
			if b, err = p.escape(b); err != nil {
				return "", err
			}
		default:
			b = append(b, c)
			p.at++
		}
	}
	return "", errEnd
}

func (p *parser) escape(b []byte) ([]byte, error) {
	if p.at == len(p.text) {
		return nil, errEnd
	}
	c := p.text[p.at]
	p.at++
	switch c {
	case '"', '\\', '/':
		return append(b, c), nil
	case 'b':
		return append(b, '\b'), nil
	case 'f':
		return append(b, '\f'), nil
	case 'n':
		return append(b, '\n'), nil
	case 'r':
		return append(b, '\r'), nil
	case 't':
		return append(b, '\t'), nil
	case 'u':
		r, err := p.hex()
		if err != nil {
			return nil, err
		}
		if utf16.IsSurrogate(r) {
			if !p.one('\\') || !p.one('u') {
				return nil, errString
			}
			low, err := p.hex()
			if err != nil {
				return nil, err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, errString
			}
		}
		return utf8.AppendRune(b, r), nil
	default:
		return nil, errString
	}
}

func (p *parser) hex() (rune, error) {
	if len(p.text)-p.at < 4 {
		return 0, errEnd
	}
	n, err := strconv.ParseUint(string(p.text[p.at:p.at+4]), 16, 32)
	if err != nil {
		return 0, errString
	}
	p.at += 4
	return rune(n), nil
}

// appendQuoted appends s as a JSON string. What is not UTF-8 becomes the replacement character.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range string(s) {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

func quote(s string) string { return string(appendQuoted(nil, s)) }
