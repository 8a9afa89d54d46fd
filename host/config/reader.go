package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader walks one YAML document and collects every mistake on the way.
type reader struct {
	file     string
	mistakes Mistakes
	more     int // mistakes beyond maxMistakes
	nodes    int // read so far
}

// document returns the root of the only document in text, nil if there is none to walk.
func (r *reader) document(text []byte) *yaml.Node {
	if len(text) > maxFile {
		r.mistake(Position{}, "the file has %d bytes, allowed: at most %d", len(text), maxFile)
		return nil
	}
	var root yaml.Node
	err := yaml.Load(text, &root)
	if err == nil {
		return r.resolve(&root)
	}
	var syntax *yaml.LoadError
	if !errors.As(err, &syntax) {
		r.mistake(Position{}, "not YAML: %v", err)
		return nil
	}
	why := strings.TrimPrefix(syntax.Message, "yaml: ")
	if syntax.ContextMsg != "" {
		why += fmt.Sprintf(" (%s from line %d)", syntax.ContextMsg, syntax.ContextMark.Line)
	}
	r.mistake(Position{syntax.Mark.Line, syntax.Mark.Column}, "not one YAML document: %s", why)
	return nil
}

// resolve follows documents and aliases to the value itself. It returns nil once the document has more
// values than any configuration needs, so aliases cannot multiply without end.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		switch {
		case n == nil:
			return nil
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		default:
			if r.nodes++; r.nodes == maxNodes {
				r.mistake(at(n), "the file holds too many values, allowed: at most %d, aliases followed", maxNodes)
			}
			if r.nodes >= maxNodes {
				return nil
			}
			return n
		}
	}
	return nil
}

func (r *reader) mistake(p Position, format string, args ...any) {
	if len(r.mistakes) == maxMistakes {
		r.more++
		return
	}
	r.mistakes = append(r.mistakes, Mistake{File: r.file, Position: p, Text: fmt.Sprintf(format, args...)})
}

// unknown reports a word that is none of those allowed.
func (r *reader) unknown(p Position, path, what, word string, allowed []string) {
	if len(r.mistakes) == maxMistakes {
		r.more++
		return
	}
	r.mistake(p, "%sunknown %s %s, %s", prefix(path), what, quote(word), suggest(word, allowed))
}

// err is every mistake, in the order of the file; nil if there is none.
func (r *reader) err() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	r.mistakes.Sort()
	if r.more > 0 {
		r.mistakes = append(r.mistakes, Mistake{File: r.file, Text: fmt.Sprintf("and %d more", r.more)})
	}
	return r.mistakes
}

func at(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// describe names what a node holds, for messages.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	default:
		return quote(n.Value)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// pair is one key of a mapping with its value.
type pair struct {
	name  string
	key   *yaml.Node
	value *yaml.Node // resolved
}

// pairs returns the pairs of a mapping; keys that are no text or come twice are mistakes.
func (r *reader) pairs(path string, n *yaml.Node) []pair {
	var pairs []pair
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := r.resolve(n.Content[i]), r.resolve(n.Content[i+1])
		if key == nil || value == nil {
			return pairs
		}
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			r.mistake(at(n.Content[i]), "%skey %s is not allowed here, allowed: plain text", prefix(path), describe(key))
		case first[key.Value] != nil:
			r.mistake(at(n.Content[i]), "%s%s is here twice, first on line %d", prefix(path), quote(key.Value), first[key.Value].Line)
		default:
			first[key.Value] = key
			pairs = append(pairs, pair{key.Value, n.Content[i], value})
		}
	}
	return pairs
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}
