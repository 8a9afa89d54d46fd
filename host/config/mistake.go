package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Mistake is one thing that is wrong with a configuration, said to the person who wrote it.
type Mistake struct {
	File string // empty for flags
	Position
	Text string
}

// String is "file:line:column: text", without the parts that are not known.
func (m Mistake) String() string {
	switch {
	case m.File == "":
		return m.Text
	case m.Line == 0:
		return m.File + ": " + m.Text
	default:
		return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
	}
}

// Mistakes is the error that Parse and FromFlags return: all of them, in the order of the file.
type Mistakes []Mistake

// Error has one mistake a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].String()
	}
	return strings.Join(lines, "\n")
}

// Sort puts mistakes in the order of the file.
func (m Mistakes) Sort() {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// maxQuoted bounds how much of an offending value a message repeats.
const maxQuoted = 80

// quote shows a value as the offending one.
func quote(value string) string {
	if len(value) > maxQuoted {
		value = value[:maxQuoted] + "…"
	}
	return strconv.Quote(value)
}

// suggest ends a message about an unknown word: the one that was probably meant, or all that are allowed.
func suggest(word string, allowed []string) string {
	if len(word) > 2*maxName {
		word = ""
	}
	best, distance := "", len(word)/3+2
	for _, a := range allowed {
		if d := levenshtein.ComputeDistance(word, a); d < distance {
			best, distance = a, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(allowed) == 0:
		return "there is none"
	default:
		return "allowed: " + strings.Join(allowed, ", ")
	}
}
