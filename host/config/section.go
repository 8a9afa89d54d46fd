package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v4"
)

// section is a mapping whose keys are known. Each key is asked for by name, with its default and its
// bounds; end reports the keys that nobody asked for.
type section struct {
	r     *reader
	path  string // for messages: "pool", "filters.once"
	node  *yaml.Node
	pairs []pair
	asked []string
}

// section reads n as a mapping. A node that is none is a mistake, and gives a section without keys; so
// does a nil node, silently.
func (r *reader) section(path string, n *yaml.Node) *section {
	s := &section{r: r, path: path, node: n}
	if !s.readable() {
		r.mistake(at(n), "%s%s is not allowed here, allowed: a mapping", prefix(path), describe(n))
	} else if n != nil {
		s.pairs = r.pairs(path, n)
	}
	return s
}

// readable is false for a section that was itself a mistake: nothing in it is missing.
func (s *section) readable() bool {
	return s.node == nil || s.node.Kind == yaml.MappingNode || isNull(s.node)
}

// find returns the value under name, nil if it is not there.
func (s *section) find(name string) *yaml.Node {
	if !slices.Contains(s.asked, name) {
		s.asked = append(s.asked, name)
	}
	for _, p := range s.pairs {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

// end reports the keys that nobody asked for.
func (s *section) end() {
	for _, p := range s.pairs {
		if !slices.Contains(s.asked, p.name) {
			s.r.unknown(at(p.key), s.path, "key", p.name, s.asked)
		}
	}
}

// at is the place of a value, or of the section where the value is not there.
func (s *section) at(n *yaml.Node) Position {
	switch {
	case n != nil:
		return at(n)
	case s.node != nil:
		return at(s.node)
	default:
		return Position{}
	}
}

// under is the path of a key for messages.
func (s *section) under(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "." + name
}

func (s *section) mistake(n *yaml.Node, name, format string, args ...any) {
	s.r.mistake(s.at(n), "%s: %s", s.under(name), fmt.Sprintf(format, args...))
}

// require reports a key without default that is not there.
func (s *section) require(name, allowed string) {
	if s.find(name) == nil && s.readable() {
		s.mistake(nil, name, "not set, allowed: %s", allowed)
	}
}

// requireSome reports a list that is not there or has no entries.
func (s *section) requireSome(name, allowed string) {
	s.require(name, allowed)
	s.refuseNone(name, allowed)
}

// refuseNone reports a list without entries.
func (s *section) refuseNone(name, allowed string) {
	if n := s.find(name); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		s.mistake(n, name, "an empty list is not allowed here, allowed: %s", allowed)
	}
}

// scalar returns the single value under name. A list, a mapping or nothing in its place is a mistake.
func (s *section) scalar(name, allowed string) (n *yaml.Node, ok bool) {
	n = s.find(name)
	if n == nil {
		return nil, false
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		s.mistake(n, name, "%s is not allowed here, allowed: %s", describe(n), allowed)
		return nil, false
	}
	return n, true
}

// text reads a value through parse, whose error says what is wrong and what is allowed.
func (s *section) text(name, def, allowed string, parse func(string) (string, error)) string {
	n, ok := s.scalar(name, allowed)
	if !ok {
		return def
	}
	value, err := parse(n.Value)
	if err != nil {
		s.mistake(n, name, "%v", err)
		return def
	}
	return value
}

// choice reads one word out of a list and returns its index.
func (s *section) choice(name string, words ...string) int {
	n, ok := s.scalar(name, oneOf(words))
	if !ok {
		return 0
	}
	i := slices.Index(words, n.Value)
	if i < 0 {
		s.mistake(n, name, "%s is not allowed, allowed: %s", quote(n.Value), oneOf(words))
		return 0
	}
	return i
}

// count reads a whole number from least to most.
func (s *section) count(name string, def, least, most int) int {
	allowed := fmt.Sprintf("a whole number from %d to %d", least, most)
	n, ok := s.scalar(name, allowed)
	if !ok {
		return def
	}
	var value int
	if n.ShortTag() != "!!int" || n.Load(&value) != nil || value < least || value > most {
		s.mistake(n, name, "%s is not allowed, allowed: %s", quote(n.Value), allowed)
		return def
	}
	return value
}

// duration reads a time span from least to most.
func (s *section) duration(name string, def, least, most time.Duration) time.Duration {
	allowed := fmt.Sprintf("a duration from %s to %s, such as 250ms, 30s, 1m, 12h, 1d", brief(least), brief(most))
	n, ok := s.scalar(name, allowed)
	if !ok {
		return def
	}
	value, err := parseDuration(n.Value)
	if err != nil || value < least || value > most {
		s.mistake(n, name, "%s is not allowed, allowed: %s", quote(n.Value), allowed)
		return def
	}
	return value
}

// size reads a number of bytes from least to most.
func (s *section) size(name string, def, least, most int64) int64 {
	allowed := fmt.Sprintf("a size from %s to %s, such as 65536, 64KiB, 1MiB", humanBytes(least), humanBytes(most))
	n, ok := s.scalar(name, allowed)
	if !ok {
		return def
	}
	value, err := humanize.ParseBytes(n.Value)
	if err != nil || value < uint64(least) || value > uint64(most) {
		s.mistake(n, name, "%s is not allowed, allowed: %s", quote(n.Value), allowed)
		return def
	}
	return int64(value)
}

// list reads the elements of a list; path names each for messages.
func (s *section) list(name, allowed string, most int, each func(path string, n *yaml.Node)) {
	n := s.find(name)
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		s.mistake(n, name, "%s is not allowed here, allowed: a list of %s", describe(n), allowed)
		return
	}
	if len(n.Content) > most {
		s.mistake(n, name, "%d entries, allowed: at most %d", len(n.Content), most)
		return
	}
	for i, raw := range n.Content {
		e := s.r.resolve(raw)
		if e == nil {
			return
		}
		each(s.under(name)+"["+strconv.Itoa(i)+"]", e)
	}
}

// words reads a list of single values through parse; one that comes twice is a mistake. Entries with
// mistakes are left out.
func (s *section) words(name, allowed string, most int, parse func(string) (string, error)) []word {
	var words []word
	s.list(name, allowed, most, func(path string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || isNull(n) {
			s.r.mistake(at(n), "%s: %s is not allowed here, allowed: %s", path, describe(n), allowed)
			return
		}
		value, err := parse(n.Value)
		if err != nil {
			s.r.mistake(at(n), "%s: %v", path, err)
			return
		}
		if slices.ContainsFunc(words, func(w word) bool { return w.value == value }) {
			s.r.mistake(at(n), "%s: %s is here twice", path, quote(n.Value))
			return
		}
		words = append(words, word{value, path, at(n)})
	})
	return words
}

// word is one entry of a list, with its place.
type word struct {
	value string
	path  string
	at    Position
}

func values(words []word) []string {
	var all []string
	for _, w := range words {
		all = append(all, w.value)
	}
	return all
}
