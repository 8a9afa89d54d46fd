// Package token verifies JSON Web Tokens (RFC 7519) for the guests. host/wasm opens a verifier for each one
// that a filter declares and asks it once per request; the key material stays in here, no guest sees it. It
// knows no HTTP and no Wasm, and nothing in it survives a crash: keys are read anew at the start.
package token

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/porchedge/porch/abi"
)

// Spec says which tokens are good.
type Spec struct {
	Algorithms []string // at least one of abi.TokenAlgorithms
	Key        abi.KeySpec
	Issuer     string        // what iss must be
	Audience   string        // what aud must be or hold
	Leeway     time.Duration // by how much the issuer's clock and this one may differ
}

// Options are what a verifier needs of its surroundings. Zero values take the system's.
type Options struct {
	Dir     string // where relative paths start
	Getenv  func(name string) string
	Now     func() time.Time
	Logger  *slog.Logger
	Changed func(taken bool) // told of each changed key file, and whether its keys were taken
}

// Verifier verifies tokens by one key or one set of keys. Any number of goroutines use it at once.
type Verifier struct {
	spec       Spec
	algorithms []jose.SignatureAlgorithm
	now        func() time.Time
	keys       atomic.Pointer[keySet]
	file       *keyFile // nil where the key comes from the environment

	closing sync.Once
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when nobody follows the file any more
}

// Open reads the key and follows its file until Close. Where there are mistakes nothing is open.
func Open(spec Spec, o Options) (*Verifier, Mistakes) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(bool) {}
	}
	if mistakes := spec.check(); len(mistakes) > 0 {
		return nil, mistakes
	}
	v := &Verifier{spec: spec, now: o.Now, stop: make(chan struct{}), done: make(chan struct{})}
	for _, a := range spec.Algorithms {
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(a))
	}
	keys, err := v.read(o)
	if err != nil {
		return nil, Mistakes{{spec.keyPointer(), err.Error()}}
	}
	v.keys.Store(keys)
	if v.file == nil {
		close(v.done)
		return v, nil
	}
	// Stops when Close says so, which waits for it.
	go func() {
		defer close(v.done)
		v.follow(o)
	}()
	return v, nil
}

// Close stops following the key's file. Tokens can still be verified. It may be called again.
func (v *Verifier) Close() {
	v.closing.Do(func() { close(v.stop) })
	<-v.done
}

// read reads the key for the first time.
func (v *Verifier) read(o Options) (*keySet, error) {
	if name := v.spec.Key.Env; name != "" {
		text := o.Getenv(name)
		if text == "" {
			return nil, errors.New("the environment has no variable of that name, or it is empty")
		}
		return parseKey([]byte(text), v.spec.Algorithms)
	}
	v.file = v.spec.keyFile(o.Dir)
	keys, _, err := v.file.read(v.now())
	return keys, err
}

// Verify checks a token and appends its claims to buf, one abi.Claim after the other. A token that is not
// Good adds nothing.
func (v *Verifier) Verify(buf, text []byte) ([]byte, Outcome) {
	if len(text) > abi.MaxToken {
		return buf, TooLarge
	}
	payload, outcome := v.authentic(text)
	if outcome != Good {
		return buf, outcome
	}
	c := claimReader{list: buf}
	if !c.read(payload) {
		return buf, Malformed
	}
	if outcome := v.spec.accept(&c, v.now()); outcome != Good {
		return buf, outcome
	}
	return c.list, Good
}

// authentic checks form and signature, and returns the payload.
func (v *Verifier) authentic(text []byte) ([]byte, Outcome) {
	if !wellFormed(text) {
		return nil, Malformed
	}
	signed, err := jose.ParseSignedCompact(string(text), v.algorithms)
	if unexpected := (*jose.ErrUnexpectedSignatureAlgorithm)(nil); errors.As(err, &unexpected) {
		return nil, WrongAlgorithm
	}
	if err != nil || len(signed.Signatures) != 1 {
		return nil, Malformed
	}
	header := signed.Signatures[0].Protected
	if _, critical := header.ExtraHeaders["crit"]; critical {
		return nil, Critical
	}
	material := v.keys.Load().choose(header.KeyID, header.Algorithm)
	if material == nil {
		return nil, UnknownKey
	}
	payload, err := signed.Verify(material)
	if err != nil {
		return nil, WrongSignature
	}
	return payload, Good
}
