package token

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	minRSABits = 2048
	maxKeys    = 64 // of a key set
)

// key is one key with what its set says of it.
type key struct {
	id        string
	algorithm string // the only one it is for; empty for all that it fits
	material  any    // []byte, *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// keySet is what tokens are verified with. It does not change.
type keySet struct {
	keys []key
	// named says that keys are told apart by their ids. Where there is one key, a token's kid means
	// nothing.
	named bool
}

// choose returns the key for a token; nil unless there is exactly one that fits. What a key is, and not what
// a token says, decides which algorithms it serves: so a public key is never taken for a secret.
func (s *keySet) choose(id, algorithm string) any {
	var found any
	for i := range s.keys {
		k := &s.keys[i]
		if s.named && id != "" && k.id != id || !k.serves(algorithm) {
			continue
		}
		if found != nil {
			return nil
		}
		found = k.material
	}
	return found
}

func (k *key) serves(algorithm string) bool {
	return (k.algorithm == "" || k.algorithm == algorithm) && fits(k.material, algorithm) == nil
}

// fits says why a key cannot serve an algorithm.
func fits(material any, algorithm string) error {
	switch m := material.(type) {
	case []byte:
		least := map[string]int{"HS256": 32, "HS384": 48, "HS512": 64}[algorithm] // RFC 7518 section 3.2
		switch {
		case least == 0:
			return fmt.Errorf("a secret does not fit %s", algorithm)
		case len(m) < least:
			return fmt.Errorf("the secret is too short: %s needs at least %d bytes", algorithm, least)
		}
	case *rsa.PublicKey:
		switch {
		case algorithm != "RS256" && algorithm != "PS256":
			return fmt.Errorf("an RSA key does not fit %s", algorithm)
		case m.N.BitLen() < minRSABits:
			return fmt.Errorf("the RSA key has %d bits, allowed: at least %d", m.N.BitLen(), minRSABits)
		}
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || m.Curve != elliptic.P256() {
			return fmt.Errorf("a key on the curve %s does not fit %s", m.Curve.Params().Name, algorithm)
		}
	case ed25519.PublicKey:
		if algorithm != "EdDSA" {
			return fmt.Errorf("an Ed25519 key does not fit %s", algorithm)
		}
	default:
		return errors.New("a key of a kind that no algorithm here uses")
	}
	return nil
}

// parseKey reads one key: a public key in PEM, or a secret, which is the text itself without a last line
// break. It must fit every algorithm.
func parseKey(text []byte, algorithms []string) (*keySet, error) {
	material, err := parseMaterial(text)
	if err != nil {
		return nil, err
	}
	for _, a := range algorithms {
		if err := fits(material, a); err != nil {
			return nil, err
		}
	}
	return &keySet{keys: []key{{material: material}}}, nil
}

func parseMaterial(text []byte) (any, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		if bytes.Contains(text, []byte("-----BEGIN ")) {
			return nil, errors.New("broken PEM")
		}
		return secret(text)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("more than one key in PEM; several belong into a JWKS")
	}
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("a private key; tokens are verified with the public one, and this one belongs to their issuer alone")
	case block.Type == "PUBLIC KEY":
		return public(x509.ParsePKIXPublicKey(block.Bytes))
	case block.Type == "RSA PUBLIC KEY":
		return public(x509.ParsePKCS1PublicKey(block.Bytes))
	case block.Type == "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return public[any](nil, err)
		}
		return c.PublicKey, nil
	default:
		return nil, errors.New("no PUBLIC KEY and no CERTIFICATE in PEM")
	}
}

// public keeps the bytes of a key that is not understood out of the message.
func public[T any](k T, err error) (any, error) {
	if err != nil {
		return nil, errors.New("the public key in PEM is not understood")
	}
	return k, nil
}

func secret(text []byte) (any, error) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	if looksLikeJSON(text) {
		return nil, errors.New("JSON is no secret; a JWKS belongs under jwks")
	}
	return bytes.Clone(text), nil
}

func looksLikeJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && bytes.HasSuffix(bytes.TrimSpace(text), []byte("}"))
}
