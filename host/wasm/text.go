package wasm

import (
	"strings"
	"unicode"
)

// oneLine makes text that came from a guest fit for one log line: at most limit bytes of it, and nothing
// that ends a line or steers a terminal.
func oneLine(text []byte, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(text), "\uFFFD"))
}
