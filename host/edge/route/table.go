// Package route chooses the route of a request: by host, by the longest prefix of whole path segments, by
// method. A table is immutable; host/edge builds one for each generation of the configuration.
package route

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrNone is returned when no rule matches.
	ErrNone = errors.New("route: no rule matches")
	// ErrAmbiguous is returned when the path as sent and its canonical form choose different rules.
	ErrAmbiguous = errors.New("route: the path as sent and its canonical form choose different rules")
	// ErrPath is returned for a path that has no canonical form.
	ErrPath = errors.New("route: malformed path")
)

// Rule says which requests a route takes.
type Rule struct {
	Host    string   // without port; empty for any
	Path    string   // prefix of whole segments, canonical
	Methods []string // empty for any
}

// Table is an immutable set of rules.
type Table struct {
	hosts map[string]*host
	any   *host
}

// host is the rules of one host name.
type host struct {
	paths   map[string][]entry // "" is the root
	longest int                // bytes of the longest path, so longer prefixes need no look-up
}

type entry struct {
	rule    int
	methods []string
}

// New builds a table. Two rules that take the same requests are a mistake.
func New(rules []Rule) (*Table, error) {
	t := &Table{hosts: map[string]*host{}, any: newHost()}
	for i, r := range rules {
		h := t.any
		if r.Host != "" {
			name := hostName([]byte(r.Host), nil)
			if h = t.hosts[string(name)]; h == nil {
				h = newHost()
				t.hosts[string(name)] = h
			}
		}
		if err := h.add(i, r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func newHost() *host { return &host{paths: map[string][]entry{}} }

func (h *host) add(rule int, r Rule) error {
	path := strings.TrimRight(r.Path, "/")
	for _, e := range h.paths[path] {
		if overlap(e.methods, r.Methods) {
			return fmt.Errorf("route: rules %d and %d take the same requests: host %q, path %q", e.rule, rule, r.Host, r.Path)
		}
	}
	h.longest = max(h.longest, len(path))
	h.paths[path] = append(h.paths[path], entry{rule, r.Methods})
	// One that names methods goes before one that takes any.
	slices.SortStableFunc(h.paths[path], func(a, b entry) int {
		return min(len(b.methods), 1) - min(len(a.methods), 1)
	})
	return nil
}

func overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}

// Choose returns the index of the rule for a request, and the canonical form of its path. authority is
// host and port as the client named them. The asterisk of OPTIONS goes where the root goes.
func (t *Table) Choose(authority, path []byte, method string) (rule int, canonical []byte, err error) {
	if string(path) == "*" {
		if rule = t.find(authority, []byte{'/'}, method); rule < 0 {
			return 0, path, ErrNone
		}
		return rule, path, nil
	}
	canonical, ok := Canonical(path)
	if !ok {
		return 0, nil, ErrPath
	}
	rule = t.find(authority, canonical, method)
	if !bytes.Equal(canonical, path) && t.find(authority, path, method) != rule {
		return 0, canonical, ErrAmbiguous
	}
	if rule < 0 {
		return 0, canonical, ErrNone
	}
	return rule, canonical, nil
}

// find looks among the rules of the host first, then among those of any host; -1 if none matches.
func (t *Table) find(authority, path []byte, method string) int {
	if len(t.hosts) > 0 {
		var low [maxHost]byte
		if name := hostName(authority, low[:0]); name != nil {
			if h := t.hosts[string(name)]; h != nil {
				if rule := h.find(path, method); rule >= 0 {
					return rule
				}
			}
		}
	}
	return t.any.find(path, method)
}

// find tries the prefixes of whole segments, longest first.
func (h *host) find(path []byte, method string) int {
	prefix := bytes.TrimRight(path, "/")
	for {
		if len(prefix) <= h.longest {
			for _, e := range h.paths[string(prefix)] {
				if len(e.methods) == 0 || slices.Contains(e.methods, method) {
					return e.rule
				}
			}
		}
		if len(prefix) == 0 {
			return -1
		}
		prefix = prefix[:max(0, bytes.LastIndexByte(prefix, '/'))]
	}
}

// maxHost is the longest name that DNS allows, and its dot, in bytes.
const maxHost = 254

// hostName appends the name in authority to dst, in lower case, without port and without the dot at the
// end; nil if it is longer than any name.
func hostName(authority, dst []byte) []byte {
	name := authority
	if len(name) > 0 && name[0] == '[' {
		if end := bytes.IndexByte(name, ']'); end >= 0 {
			name = name[:end+1]
		}
	} else if colon := bytes.IndexByte(name, ':'); colon >= 0 {
		name = name[:colon]
	}
	name = bytes.TrimSuffix(name, []byte{'.'})
	if len(name) > maxHost {
		return nil
	}
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
