package token

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/porchedge/porch/abi"
)

// Mistake is one thing that is wrong with a Spec.
type Mistake struct {
	Pointer string // JSON pointer (RFC 6901) into abi.VerifierSpec
	Text    string
}

// Mistakes are all that are wrong with a Spec.
type Mistakes []Mistake

// check finds what is wrong without looking at the key.
func (s *Spec) check() (m Mistakes) {
	known := abi.TokenAlgorithms()
	if len(s.Algorithms) == 0 {
		m = append(m, Mistake{"/algorithms", "needs at least one of " + strings.Join(known, ", ")})
	}
	for i, a := range s.Algorithms {
		if !slices.Contains(known, a) {
			m = append(m, Mistake{fmt.Sprintf("/algorithms/%d", i), "must be one of " + strings.Join(known, ", ")})
		}
	}
	if sources(s.Key) != 1 {
		m = append(m, Mistake{"/key", "needs one of env, file, jwks, and no more"})
	}
	if s.Issuer == "" {
		m = append(m, Mistake{"/issuer", "is required"})
	}
	if s.Audience == "" {
		m = append(m, Mistake{"/audience", "is required"})
	}
	if s.Leeway < 0 || s.Leeway > abi.MaxLeewayMS*time.Millisecond {
		m = append(m, Mistake{"/leeway", "must be between 0s and 5m"})
	}
	return m
}

func sources(k abi.KeySpec) (n int) {
	for _, source := range []string{k.Env, k.File, k.JWKS} {
		if source != "" {
			n++
		}
	}
	return n
}

// keyPointer is where the key's source stands.
func (s *Spec) keyPointer() string {
	switch {
	case s.Key.Env != "":
		return "/key/env"
	case s.Key.File != "":
		return "/key/file"
	default:
		return "/key/jwks"
	}
}

// keyFile is the file that the key comes from.
func (s *Spec) keyFile(dir string) *keyFile {
	path, parse := s.Key.File, parseKey
	if path == "" {
		path, parse = s.Key.JWKS, parseKeySet
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return &keyFile{path: path, parse: func(text []byte) (*keySet, error) { return parse(text, s.Algorithms) }}
}

// accept compares the registered claims with what the spec expects.
func (s *Spec) accept(c *claimReader, now time.Time) Outcome {
	switch {
	case !c.hasIssuer || c.issuer != s.Issuer:
		return WrongIssuer
	case !slices.Contains(c.audience, s.Audience):
		return WrongAudience
	case !now.Before(c.expires.Add(s.Leeway)):
		return Expired
	case c.hasNotBefore && now.Before(c.notBefore.Add(-s.Leeway)):
		return Early
	default:
		return Good
	}
}
