package main

import (
	"strings"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

const (
	largestBody = 1 << 30
	longestURI  = 1024
	longestName = 128
)

// configure reads
//
//	algorithms   that tokens may be signed with, required
//	key          where the host finds the key: { env: NAME }, { file: PATH } or { jwks: PATH }, required
//	issuer       what iss must be, required
//	audience     what aud must be or hold, required
//	leeway       by how much clocks may differ, default 0s
//	claims       those to leave for later filters; by default all that are one word
//	optional     whether requests without a token pass, without an identity, default false
//	remove       whether the token is taken out of the request, default false
//	body_hash    the claim that must be the SHA-256 of the body; none by default
//	max_request  the largest body where there is a body_hash, default 1MiB; a larger one gets 413
//	realm        that refusals name, default the name of the filter
func configure(c *guest.Config) {
	o := c.Object()
	spec := abi.VerifierSpec{
		Algorithms: o.Texts("algorithms").Len(1, len(abi.TokenAlgorithms())).OneOf(abi.TokenAlgorithms()...).Or(),
		Key:        key(c, o),
		Issuer:     o.Text("issuer").Check(identifier).Required(),
		Audience:   o.Text("audience").Check(identifier).Required(),
		LeewayMS:   o.Duration("leeway").In(0, abi.MaxLeewayMS*time.Millisecond).Or(0).Milliseconds(),
	}
	if spec.Algorithms == nil {
		c.Reject(o.Pointer("algorithms"), "is required")
	}
	wanted = o.Texts("claims").Len(0, mostClaims).Distinct().Check(claimName).Or()
	optional = o.Bool("optional", false)
	remove = o.Bool("remove", false)
	bodyHash = o.Text("body_hash").Check(identifier).Or("")
	maxRequest := o.Size("max_request").In(0, largestBody).Or(1 << 20)
	realm := o.Text("realm").Check(realmText).Or(c.Filter())
	if c.Rejected() {
		return
	}
	challenge(realm)
	verifier = c.Verifier(o, spec)
	if bodyHash != "" {
		c.HoldBody("", maxRequest)
	}
}

// key reads where the key is; the host says what is wrong with the key itself.
func key(c *guest.Config, o *guest.Object) (k abi.KeySpec) {
	if inner := o.Object("key"); inner != nil {
		k = abi.KeySpec{Env: inner.Text("env").Or(""), File: inner.Text("file").Or(""), JWKS: inner.Text("jwks").Or("")}
	}
	sources := 0
	for _, s := range []string{k.Env, k.File, k.JWKS} {
		if s != "" {
			sources++
		}
	}
	if sources != 1 {
		c.Reject(o.Pointer("key"), "must have one of env, file, jwks")
	}
	return k
}

// identifier is an issuer, an audience or the name of a claim.
func identifier(s string) string {
	if s == "" || len(s) > longestURI {
		return "must have 1 to 1024 bytes"
	}
	return ""
}

// claimName says why a claim cannot be left as a property.
func claimName(s string) string {
	if !nameFits([]byte(s)) {
		return "must be 1 to 122 visible ASCII characters without a slash, since later filters read it by that name"
	}
	return ""
}

// realmText is what can stand between quotes.
func realmText(s string) string {
	if s == "" || len(s) > longestName || strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' || c > '~' || c == '"' || c == '\\'
	}) {
		return `must be 1 to 128 printable ASCII characters without " and \`
	}
	return ""
}
