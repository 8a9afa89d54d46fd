package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/porchedge/porch/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is when every token here is looked at.
var now = time.Unix(1_800_000_000, 0)

const (
	issuer   = "https://issuer.example"
	audience = "edge"
)

// keys are made once: RSA keys take their time.
var keys = sync.OnceValue(func() (k struct {
	secret []byte
	rsa    *rsa.PrivateKey
	weak   *rsa.PrivateKey
	ec     *ecdsa.PrivateKey
	other  *ecdsa.PrivateKey
	p384   *ecdsa.PrivateKey
	ed     ed25519.PrivateKey
}) {
	k.secret = make([]byte, 64)
	for i := range k.secret {
		k.secret[i] = 'a' + byte(i%26)
	}
	k.rsa = must(rsa.GenerateKey(rand.Reader, 2048))
	k.weak = must(rsa.GenerateKey(rand.Reader, 1024))
	k.ec = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	k.other = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	k.p384 = must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, k.ed, _ = ed25519.GenerateKey(rand.Reader)
	return k
})

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// publicPEM is the public half of a key.
func publicPEM(key crypto.Signer) string {
	der := must(x509.MarshalPKIXPublicKey(key.Public()))
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// claims are those of a good token; the changes are name and value in turn, and nil takes a claim away.
func claims(changes ...any) string {
	all := map[string]any{
		"iss": issuer, "aud": audience, "sub": "u-1", "exp": now.Add(time.Minute).Unix(), "tenant_id": "t-1",
	}
	for i := 0; i < len(changes); i += 2 {
		if name := changes[i].(string); changes[i+1] == nil {
			delete(all, name)
		} else {
			all[name] = changes[i+1]
		}
	}
	return string(must(json.Marshal(all)))
}

// sign makes a token with a library that is not under test.
func sign(algorithm string, key any, payload string, header ...string) string {
	o := &jose.SignerOptions{}
	for i := 0; i < len(header); i += 2 {
		o.WithHeader(jose.HeaderKey(header[i]), header[i+1])
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: key}, o))
	return must(must(signer.Sign([]byte(payload))).CompactSerialize())
}

// part is one part of a token.
func part(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// forge signs any header with HMAC-SHA256.
func forge(secret []byte, header, payload string) string {
	signed := part(header) + "." + part(payload)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(signed))
	return signed + "." + part(string(mac.Sum(nil)))
}

// open makes a verifier whose key lies in the environment.
func open(t testing.TB, key string, algorithms ...string) *Verifier {
	t.Helper()
	v, mistakes := Open(specFor(abi.KeySpec{Env: "KEY"}, algorithms...), Options{
		Now:    func() time.Time { return now },
		Getenv: func(name string) string { return map[string]string{"KEY": key}[name] },
	})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	t.Cleanup(v.Close)
	return v
}

func specFor(key abi.KeySpec, algorithms ...string) Spec {
	return Spec{Algorithms: algorithms, Key: key, Issuer: issuer, Audience: audience}
}

func wantOutcome(t testing.TB, v *Verifier, text string, want Outcome) {
	t.Helper()
	list, got := v.Verify([]byte("before"), []byte(text))
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got != Good && string(list) != "before" {
		t.Errorf("%v leaves %q", got, list)
	}
}

// told are the claims that a good token gives, one "kind name value" each.
func told(t testing.TB, v *Verifier, text string) (all []string) {
	t.Helper()
	list, got := v.Verify(nil, []byte(text))
	if got != Good {
		t.Fatal(got)
	}
	for c, rest, ok := abi.NextClaim(list); ok; c, rest, ok = abi.NextClaim(rest) {
		all = append(all, fmt.Sprintf("%d %s %s", c.Kind, c.Name, c.Value))
	}
	return all
}
