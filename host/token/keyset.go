package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// parseKeySet reads a JSON Web Key Set (RFC 7517). Keys that are for something else, or of a kind that is
// not known, are left out, as its section 5 asks; one that fits must be there.
func parseKeySet(text []byte, algorithms []string) (*keySet, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, errors.New("not a JSON Web Key Set")
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, allowed: at most %d", len(document.Keys), maxKeys)
	}
	set := &keySet{named: true}
	for i, entry := range document.Keys {
		k, err := parseEntry(entry)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		if k != nil && servesOne(k, algorithms) {
			set.keys = append(set.keys, *k)
		}
	}
	if len(set.keys) == 0 {
		return nil, fmt.Errorf("none of its %d keys fits the algorithms", len(document.Keys))
	}
	return set, nil
}

// parseEntry reads one key; nil if it is none that verifies tokens.
func parseEntry(entry []byte) (*key, error) {
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(entry); err != nil {
		return nil, nil
	}
	if jwk.Use != "" && jwk.Use != "sig" {
		return nil, nil
	}
	switch m := jwk.Key.(type) {
	case []byte, ed25519.PublicKey:
		return &key{jwk.KeyID, jwk.Algorithm, m}, nil
	default:
		if jwk.IsPublic() {
			return &key{jwk.KeyID, jwk.Algorithm, m}, nil
		}
		return nil, errors.New("a private key; only public ones belong here")
	}
}

func servesOne(k *key, algorithms []string) bool {
	for _, a := range algorithms {
		if k.serves(a) {
			return true
		}
	}
	return false
}
