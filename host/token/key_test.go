package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/porchedge/porch/abi"
)

func newRSA() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) }

func newEd25519() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func certificate(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"}, NotAfter: now.Add(time.Hour)}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestKeys(t *testing.T) {
	k := keys()
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&k.rsa.PublicKey)}))
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(k.ec))}))
	for _, c := range []struct {
		name, text string
		algorithms []string
		wrong      string // empty if the key is good
	}{
		{"a secret", strings.Repeat("s", 32), []string{"HS256"}, ""},
		{"a secret with a line break", strings.Repeat("s", 32) + "\r\n", []string{"HS256"}, ""},
		{"a line break is no part of it", strings.Repeat("s", 31) + "\n", []string{"HS256"}, "at least 32"},
		{"too short for one of them", strings.Repeat("s", 63), []string{"HS256", "HS512"}, "HS512 needs at least 64"},
		{"a secret for RSA", strings.Repeat("s", 64), []string{"RS256"}, "does not fit RS256"},
		{"RSA", publicPEM(k.rsa), []string{"RS256", "PS256"}, ""},
		{"RSA in its own form", pkcs1, []string{"RS256"}, ""},
		{"RSA in a certificate", certificate(t, k.rsa), []string{"RS256"}, ""},
		{"RSA too small", publicPEM(k.weak), []string{"RS256"}, "1024 bits"},
		{"a public key as a secret", publicPEM(k.rsa), []string{"HS256"}, "does not fit HS256"},
		{"a public key as a secret, beside its own algorithm", publicPEM(k.rsa), []string{"RS256", "HS256"}, "does not fit HS256"},
		{"EC", publicPEM(k.ec), []string{"ES256"}, ""},
		{"EC on another curve", publicPEM(k.p384), []string{"ES256"}, "P-384"},
		{"EC for EdDSA", publicPEM(k.ec), []string{"EdDSA"}, "does not fit EdDSA"},
		{"Ed25519", publicPEM(k.ed), []string{"EdDSA"}, ""},
		{"Ed25519 for ES256", publicPEM(k.ed), []string{"ES256"}, "does not fit ES256"},
		{"a private key", private, []string{"ES256"}, "private key"},
		{"two keys", publicPEM(k.ec) + publicPEM(k.other), []string{"ES256"}, "more than one"},
		{"broken PEM", publicPEM(k.ec)[:80], []string{"ES256"}, "broken PEM"},
		{"broken DER", strings.Replace(publicPEM(k.ec), "MFkw", "AAAA", 1), []string{"ES256"}, "not understood"},
		{"another PEM", string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL"})), []string{"ES256"}, "no PUBLIC KEY"},
		{"a key set as a secret", `{"keys":[` + strings.Repeat(" ", 64) + `]}`, []string{"HS256"}, "JWKS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseKey([]byte(c.text), c.algorithms)
			wantMistake(t, err, c.wrong)
		})
	}
}

func wantMistake(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Error(err)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("%v lacks %q", err, words)
	}
}

// set writes keys as a JWKS; a string stands there as it is.
func set(entries ...any) string {
	var all []json.RawMessage
	for _, e := range entries {
		if text, ok := e.(string); ok {
			all = append(all, json.RawMessage(text))
			continue
		}
		all = append(all, must(json.Marshal(e)))
	}
	return string(must(json.Marshal(map[string]any{"keys": all})))
}

func TestKeySets(t *testing.T) {
	k := keys()
	first := jose.JSONWebKey{KeyID: "1", Key: &k.ec.PublicKey}
	second := jose.JSONWebKey{KeyID: "2", Key: &k.other.PublicKey}
	for _, c := range []struct {
		name, text string
		algorithms []string
		wrong      string
	}{
		{"two keys", set(first, second), []string{"ES256"}, ""},
		{"an unknown kind is left out", set(`{"kty":"XYZ","kid":"9"}`, first), []string{"ES256"}, ""},
		{"a key that lacks members is left out", set(`{"kty":"EC","crv":"P-256"}`, first), []string{"ES256"}, ""},
		{"nothing fits", set(first), []string{"RS256"}, "none of its 1 keys"},
		{"for encryption", set(jose.JSONWebKey{Key: &k.ec.PublicKey, Use: "enc"}), []string{"ES256"}, "none of its 1 keys"},
		{"for another algorithm", set(jose.JSONWebKey{Key: &k.rsa.PublicKey, Algorithm: "PS256"}), []string{"RS256"}, "none of its 1 keys"},
		{"too small", set(jose.JSONWebKey{Key: &k.weak.PublicKey}), []string{"RS256"}, "none of its 1 keys"},
		{"empty", `{"keys":[]}`, []string{"ES256"}, "none of its 0 keys"},
		{"no set", `{}`, []string{"ES256"}, "none of its 0 keys"},
		{"no JSON", `keys`, []string{"ES256"}, "not a JSON Web Key Set"},
		{"a private key", set(jose.JSONWebKey{Key: k.ec}), []string{"ES256"}, "key 0: a private key"},
		{"a private key beside a public one", set(first, jose.JSONWebKey{Key: k.ed}), []string{"ES256"}, "key 1: a private key"},
		{"a secret", set(jose.JSONWebKey{Key: k.secret}), []string{"HS256"}, ""},
		{"too many", `{"keys":[` + strings.Repeat("{},", 64) + `{}]}`, []string{"ES256"}, "at most 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseKeySet([]byte(c.text), c.algorithms)
			wantMistake(t, err, c.wrong)
		})
	}
}

func TestChoiceOfKey(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		name    string
		entries []any
		text    string
		want    Outcome
	}{
		{"by its id", []any{jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey)}, sign("ES256", k.other, claims(), "kid", "2"), Good},
		{"the id of another key", []any{jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey)}, sign("ES256", k.other, claims(), "kid", "1"), WrongSignature},
		{"an unknown id", []any{jwk("1", &k.ec.PublicKey)}, sign("ES256", k.ec, claims(), "kid", "2"), UnknownKey},
		{"an id where keys have none", []any{jwk("", &k.ec.PublicKey)}, sign("ES256", k.ec, claims(), "kid", "2"), UnknownKey},
		{"no id and one key", []any{jwk("1", &k.ec.PublicKey)}, sign("ES256", k.ec, claims()), Good},
		{"no id and one key that fits", []any{jwk("1", &k.ec.PublicKey), jwk("2", k.secret)}, sign("ES256", k.ec, claims()), Good},
		{"no id and two keys that fit", []any{jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey)}, sign("ES256", k.ec, claims()), UnknownKey},
		{"one id for two keys", []any{jwk("1", &k.ec.PublicKey), jwk("1", &k.other.PublicKey)}, sign("ES256", k.ec, claims(), "kid", "1"), UnknownKey},
		{"one id for two kinds", []any{jwk("1", &k.ec.PublicKey), jwk("1", k.secret)}, sign("ES256", k.ec, claims(), "kid", "1"), Good},
		{"the id of a key of another kind", []any{jwk("1", &k.ec.PublicKey), jwk("2", k.secret)}, sign("ES256", k.ec, claims(), "kid", "2"), UnknownKey},
		{"a public key as a secret", []any{jwk("1", &k.ec.PublicKey)}, forge([]byte(publicPEM(k.ec)), `{"alg":"HS256","kid":"1"}`, claims()), UnknownKey},
		{"a key for another algorithm", []any{jose.JSONWebKey{KeyID: "1", Key: k.secret, Algorithm: "HS384"}}, sign("HS256", k.secret, claims(), "kid", "1"), UnknownKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			algorithms := []string{"HS256", "HS384", "ES256"}
			keySet, err := parseKeySet([]byte(set(c.entries...)), algorithms)
			if err != nil {
				t.Fatal(err)
			}
			v := open(t, string(k.secret), "HS256", "HS384")
			v.algorithms = append(v.algorithms, jose.ES256)
			v.keys.Store(keySet)
			wantOutcome(t, v, c.text, c.want)
		})
	}
}

func jwk(id string, material any) jose.JSONWebKey { return jose.JSONWebKey{KeyID: id, Key: material} }

func TestSpecMistakes(t *testing.T) {
	good := specFor(abi.KeySpec{Env: "KEY"}, "HS256")
	for _, c := range []struct {
		name    string
		change  func(s *Spec)
		pointer string
		words   string
	}{
		{"no algorithm", func(s *Spec) { s.Algorithms = nil }, "/algorithms", "at least one"},
		{"none", func(s *Spec) { s.Algorithms = []string{"HS256", "none"} }, "/algorithms/1", "must be one of"},
		{"no key", func(s *Spec) { s.Key = abi.KeySpec{} }, "/key", "one of env, file, jwks"},
		{"two keys", func(s *Spec) { s.Key.JWKS = "a" }, "/key", "no more"},
		{"no issuer", func(s *Spec) { s.Issuer = "" }, "/issuer", "is required"},
		{"no audience", func(s *Spec) { s.Audience = "" }, "/audience", "is required"},
		{"leeway below 0", func(s *Spec) { s.Leeway = -1 }, "/leeway", "between"},
		{"leeway above its bound", func(s *Spec) { s.Leeway = time.Hour }, "/leeway", "between"},
		{"no such variable", func(s *Spec) { s.Key.Env = "OTHER" }, "/key/env", "no variable"},
		{"a secret that does not fit", func(s *Spec) { s.Algorithms = []string{"ES256"} }, "/key/env", "does not fit"},
		{"no such file", func(s *Spec) { s.Key = abi.KeySpec{File: "none"} }, "/key/file", "no such file"},
		{"no such set", func(s *Spec) { s.Key = abi.KeySpec{JWKS: "none"} }, "/key/jwks", "no such file"},
		{"a folder", func(s *Spec) { s.Key = abi.KeySpec{File: "."} }, "/key/file", "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := good
			c.change(&spec)
			_, m := Open(spec, Options{Dir: t.TempDir(), Getenv: func(name string) string {
				return map[string]string{"KEY": strings.Repeat("s", 32)}[name]
			}})
			if len(m) != 1 || m[0].Pointer != c.pointer || !strings.Contains(m[0].Text, c.words) {
				t.Fatalf("got %v", m)
			}
			if strings.Contains(m[0].Text, "sss") {
				t.Error("the mistake tells the secret")
			}
		})
	}
}
