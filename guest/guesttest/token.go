package guesttest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/porchedge/porch/abi"
)

// Token is what the host makes of a token: its claims, or why it is not good.
type Token struct {
	Claims    string // a JSON mapping
	Condition abi.Condition
}

// Verifier implements the host function. What it refuses is also a rejection, as a host reports it.
func (h *Host) Verifier(at, spec string) int32 {
	if h.phase != phaseConfigure {
		return int32(abi.WrongPhase)
	}
	if len(h.Verifiers) == abi.MaxVerifiers || len(spec) > abi.MaxSpec {
		return int32(abi.TooLarge)
	}
	var s abi.VerifierSpec
	if err := decode(spec, &s); err != nil {
		h.Rejections = append(h.Rejections, Rejection{"", "verifier: " + err.Error()})
		return int32(abi.Invalid)
	}
	if pointer := wrongSpec(&s); pointer != "" {
		h.Rejections = append(h.Rejections, Rejection{cut(at) + pointer, "refused by the host"})
		return int32(abi.Invalid)
	}
	h.Verifiers = append(h.Verifiers, spec)
	return int32(len(h.Verifiers) - 1)
}

// wrongSpec is the pointer to the first member that no host takes; empty if there is none.
func wrongSpec(s *abi.VerifierSpec) string {
	sources := 0
	for _, source := range []string{s.Key.Env, s.Key.File, s.Key.JWKS} {
		if source != "" {
			sources++
		}
	}
	unknown := func(a string) bool { return !slices.Contains(abi.TokenAlgorithms(), a) }
	switch {
	case len(s.Algorithms) == 0, slices.ContainsFunc(s.Algorithms, unknown):
		return "/algorithms"
	case sources != 1:
		return "/key"
	case s.Issuer == "":
		return "/issuer"
	case s.Audience == "":
		return "/audience"
	case s.LeewayMS < 0, s.LeewayMS > abi.MaxLeewayMS:
		return "/leeway"
	default:
		return ""
	}
}

// Verify implements the host function: a token is what Tokens says of it, and none other is trusted.
func (h *Host) Verify(verifier int32, token, buf []byte) int32 {
	if h.phase != phaseRequest {
		return int32(abi.WrongPhase)
	}
	if verifier < 0 || int(verifier) >= len(h.Verifiers) {
		return int32(abi.Invalid)
	}
	if len(token) > abi.MaxToken {
		return int32(abi.TooLarge)
	}
	known, ok := h.Tokens[string(token)]
	if !ok {
		return int32(abi.Untrusted)
	}
	if known.Condition != 0 {
		return int32(known.Condition)
	}
	return fill(buf, string(claims(known.Claims)))
}

// claims writes a mapping as the contract does. It panics where it is none: a mistake in the test.
func claims(mapping string) (list []byte) {
	d := json.NewDecoder(bytes.NewReader([]byte(mapping)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		panic("guesttest: claims are not a mapping: " + mapping)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			panic("guesttest: " + err.Error())
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			panic("guesttest: " + err.Error())
		}
		if c, ok := claim(name.(string), value); ok {
			list = abi.AppendClaim(list, c)
		}
	}
	return list
}

func claim(name string, value json.RawMessage) (c abi.Claim, ok bool) {
	c = abi.Claim{Kind: abi.ClaimNumber, Name: []byte(name), Value: value}
	switch value[0] {
	case 'n':
		return c, false
	case 't', 'f':
		c.Kind = abi.ClaimBool
	case '{', '[':
		c.Kind = abi.ClaimJSON
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			panic("guesttest: " + err.Error())
		}
		c.Kind, c.Value = abi.ClaimText, []byte(text)
	}
	return c, true
}
