package wasm

import (
	"bytes"
	"fmt"
	"log/slog"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/token"
)

// verifier is one declared verifier; its handle is its index.
type verifier struct {
	spec  []byte // as the guest wrote it
	token *token.Verifier
}

// verifier declares how tokens are verified and returns its handle.
func (in *instance) verifier(stack []uint64) int64 {
	at := in.bytes(stack[0], stack[1])
	text := in.bytes(stack[2], stack[3])
	d := in.declared
	var spec abi.VerifierSpec
	c, err := abi.TooLarge, error(nil)
	switch {
	case len(d.verifiers) == abi.MaxVerifiers:
		err = fmt.Errorf("%w: a filter declares at most %d verifiers", ErrVerifier, abi.MaxVerifiers)
	case len(text) > maxSpec:
		err = fmt.Errorf("%w: the spec is longer than %d bytes", ErrVerifier, maxSpec)
	default:
		if err = strictJSON(text, &spec); err != nil {
			c, err = abi.Invalid, fmt.Errorf("%w: %w", ErrVerifier, err)
		}
	}
	if err != nil {
		if len(d.refused) < abi.MaxPolicies {
			d.refused = append(d.refused, err)
		}
		return condition(c)
	}
	opened := verifier{spec: bytes.Clone(text)}
	if in.first {
		v, mistakes := in.version.openVerifier(spec)
		if len(mistakes) > 0 {
			d.reject(oneLine(at, abi.MaxReason), mistakes)
			return condition(abi.Invalid)
		}
		opened.token = v
	}
	d.verifiers = append(d.verifiers, opened)
	return int64(len(d.verifiers) - 1)
}

// reject tells what is wrong with a spec at the place in the configuration that it was made from.
func (d *declarations) reject(at string, mistakes token.Mistakes) {
	for _, m := range mistakes {
		if len(d.reasons) < abi.MaxReasons {
			d.reasons = append(d.reasons, Reason{Pointer: at + m.Pointer, Text: m.Text})
		}
	}
}

// openVerifier opens a verifier for the first instance of v; all instances use it until v is closed.
func (v *Version) openVerifier(spec abi.VerifierSpec) (*token.Verifier, token.Mistakes) {
	options := token.Options{Dir: v.keyDir, Logger: v.engine.log.With(slog.String("filter", v.filter))}
	if o := v.engine.observer; o != nil {
		options.Changed = func(taken bool) { o.KeysChanged(v.filter, taken) }
	}
	opened, mistakes := token.Open(token.Spec{
		Algorithms: spec.Algorithms, Key: spec.Key, Issuer: spec.Issuer, Audience: spec.Audience,
		Leeway: time.Duration(min(max(spec.LeewayMS, -1), abi.MaxLeewayMS+1)) * time.Millisecond,
	}, options)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	v.verifiers = append(v.verifiers, opened)
	return opened, nil
}

// verify checks a token and writes its claims to the guest's buffer.
func (in *instance) verify(stack []uint64) int64 {
	text := in.bytes(stack[1], stack[2])
	buffer := in.bytes(stack[3], stack[4])
	handle := uint32(stack[0])
	if uint64(handle) >= uint64(len(in.version.declared.verifiers)) {
		return condition(abi.Invalid)
	}
	in.pause()
	var outcome token.Outcome
	in.scratch, outcome = in.version.declared.verifiers[handle].token.Verify(in.scratch[:0], text)
	in.resume()
	if o := in.version.engine.observer; o != nil {
		o.Verified(in.version.filter, outcome)
	}
	switch outcome {
	case token.Good:
		return give(buffer, in.scratch)
	case token.TooLarge:
		return condition(abi.TooLarge)
	case token.Expired:
		return condition(abi.Expired)
	case token.Early:
		return condition(abi.Early)
	default:
		return condition(abi.Untrusted)
	}
}
