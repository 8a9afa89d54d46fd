package wasmtests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
)

var (
	untrusted = fmt.Sprint(int(abi.Untrusted))
	expired   = fmt.Sprint(int(abi.Expired))
	early     = fmt.Sprint(int(abi.Early))
)

// secret signs the tokens here.
const secret = "a secret of more than 32 bytes, of tests alone"

// signed is a token with that header and those claims, by HMAC-SHA256.
func signed(key, header, claims string) string {
	text := base64url(header) + "." + base64url(claims)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + base64url(string(mac.Sum(nil)))
}

func base64url(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

const hs256 = `{"alg":"HS256"}`

// tokenClaims are those of a good token, with others in front: `"a":1,`.
func tokenClaims(others string) string {
	return fmt.Sprintf(`{%s"iss":"i","aud":"a","exp":%d}`, others, time.Now().Add(time.Hour).Unix())
}

func goodToken() string { return signed(secret, hs256, tokenClaims("")) }

// keyFile writes a key and returns where it is.
func keyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	rewrite(t, path, content)
	return path
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := replace(path, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// verifierSpec takes tokens that are signed with the key in a file; member is file or jwks.
func verifierSpec(member, path, algorithms string, leeway time.Duration) string {
	return fmt.Sprintf(`{"algorithms":[%s],"key":{%q:%q},"issuer":"i","audience":"a","leeway_ms":%d}`,
		algorithms, member, path, leeway.Milliseconds())
}

func verifier(at, spec string) string { return "verifier " + word(at) + " " + word(spec) }

func verify(token string) string { return "verify 0 " + word(token) + " 65536" }

// verifying is a site whose filter p takes tokens that are signed with the secret.
func verifying(t *testing.T) *site {
	t.Helper()
	return open(t, probing("p", verifier("", verifierSpec("file", keyFile(t, secret), `"HS256"`, 0))))
}

// claimsOf is a list of claims as the contract writes it, behind its length; each is kind, name and value.
func claimsOf(claims ...abi.Claim) string {
	var b []byte
	for _, c := range claims {
		b = abi.AppendClaim(b, c)
	}
	return fmt.Sprintf("%d:%s", len(b), b)
}

func claimed(kind abi.ClaimKind, name, value string) abi.Claim {
	return abi.Claim{Kind: kind, Name: []byte(name), Value: []byte(value)}
}

func good(result string) bool { return !strings.HasPrefix(result, "-") }

var _ = clause("GET-9", func(t *testing.T) {
	hash := func(body string) string {
		sum := sha256.Sum256([]byte(body))
		return "32:" + string(sum[:])
	}
	ask := asking("p", set(abi.FieldPath, "", "/other"), get(abi.FieldBodyHash, "")).with(func(r *request) { r.method, r.body = "POST", "body" })
	s := open(t, probing("p", "need 1 - 100"))
	want(t, s.results(s.send(ask), "p")[1:], hash("body"))
	want(t, s.run(get(abi.FieldBodyHash, "")), hash(""))
	want(t, s.runBack(get(abi.FieldBodyHash, "")), wrongPhase)
	s = open(t, probing("p"))
	want(t, s.results(s.send(ask), "p")[1:], absent)
	want(t, s.run(get(abi.FieldBodyHash, ""), set(abi.FieldBodyHash, "", "x")), hash(""), denied)
})

var _ = clause("VERIFY-1", func(t *testing.T) {
	spec := verifierSpec("file", keyFile(t, secret), `"HS256"`, 0)
	set := fmt.Sprintf(`{"keys":[{"kty":"oct","k":%q}]}`, base64url(secret))
	s := open(t, probing("p", verifier("", spec), verifier("", verifierSpec("jwks", keyFile(t, set), `"HS256"`, 5*time.Minute)),
		verifier("", strings.Replace(spec, `,"leeway_ms":0`, "", 1))))
	want(t, s.configured(), "0", "1", "2")
	// Two instances at once know the same handles.
	var all []<-chan answer
	for range 16 {
		all = append(all, s.sending(asking("p", verify(goodToken()), strings.Replace(verify(goodToken()), "verify 0", "verify 1", 1))))
	}
	for _, a := range all {
		for _, got := range s.results(<-a, "p") {
			if !good(got) {
				t.Errorf("got %s", got)
			}
		}
	}
	wantIn(t, refusal(t, probing("p", verifier("", `{"algorithms":["HS256"],"key":{"env":"PORCH_NO_SUCH_KEY"},"issuer":"i","audience":"a"}`))), "key.env")
})

// publicKey is a new one in PEM.
func publicKey(t *testing.T, curve elliptic.Curve) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

var _ = clause("VERIFY-2", func(t *testing.T) {
	public := publicKey(t, elliptic.P256())
	for name, c := range map[string]struct {
		key, algorithms string
		good            bool
	}{
		"every length of hash":                    {strings.Repeat("s", 64), `"HS256","HS384","HS512"`, true},
		"a secret too short for one":              {strings.Repeat("s", 63), `"HS256","HS512"`, false},
		"a secret that is too short":              {strings.Repeat("s", 31), `"HS256"`, false},
		"an algorithm without a signature":        {secret, `"none"`, false},
		"an algorithm in small letters":           {secret, `"hs256"`, false},
		"no algorithm":                            {secret, ``, false},
		"a public key":                            {public, `"ES256"`, true},
		"a public key on another curve":           {publicKey(t, elliptic.P384()), `"ES256"`, false},
		"a public key as the secret":              {public, `"HS256"`, false},
		"a public key as the secret, beside":      {public, `"ES256","HS256"`, false},
		"a secret for a public key's algorithm":   {secret, `"RS256"`, false},
		"a public key for another kind's":         {public, `"EdDSA"`, false},
		"a public key for another kind's, beside": {public, `"ES256","PS256"`, false},
	} {
		got := declared(t, verifier("", verifierSpec("file", keyFile(t, c.key), c.algorithms, 0)))
		if (got[0] == "0") != c.good {
			t.Errorf("%s: got %q", name, got)
		}
	}
	s := open(t, probing("p", verifier("", verifierSpec("file", keyFile(t, public), `"ES256"`, 0))))
	want(t, s.run(verify(signed(public, hs256, tokenClaims("")))), untrusted)
})

var _ = clause("VERIFY-3", func(t *testing.T) {
	good := verifierSpec("file", keyFile(t, secret), `"HS256"`, 0)
	for name, spec := range map[string]string{
		"no JSON": "verifier", "empty": "", "two values": good + good, "a member more": strings.Replace(good, "{", `{"none":1,`, 1),
		"no issuer": strings.Replace(good, `"i"`, `""`, 1), "no audience": strings.Replace(good, `"a"`, `""`, 1),
		"two keys": strings.Replace(good, `"key":{`, `"key":{"env":"A",`, 1), "a leeway above its bound": strings.Replace(good, `"leeway_ms":0`, `"leeway_ms":300001`, 1),
		"a leeway below 0": strings.Replace(good, `"leeway_ms":0`, `"leeway_ms":-1`, 1), "no file": verifierSpec("file", "/none", `"HS256"`, 0),
	} {
		if got := declared(t, verifier("/at", spec)); !slices.Equal(got, []string{invalid}) {
			t.Errorf("%s: got %q", name, got)
		}
		refusal(t, probing("p", verifier("/at", spec)))
	}
	want(t, declared(t, verifier("", "@65537")), tooLarge)
	many := slices.Repeat([]string{verifier("", good)}, 17)
	want(t, declared(t, many...)[15:], "15", tooLarge)
	refusal(t, probing("p", many...))
	wantIn(t, refusal(t, probing("p", verifier("/tokens/0", strings.Replace(good, `"HS256"`, `"HS256","none"`, 1)))), "tokens.0.algorithms.1")
})

var _ = clause("VERIFY-4", func(t *testing.T) {
	s := verifying(t)
	claims := fmt.Sprintf(`{ "z":"\u00e9\n","exp":%d.5, "n":null,"i":9007199254740993,"iss":"i","f":false,"aud":[ "b","a"],"m":{"x":null} }`, time.Now().Add(time.Hour).Unix())
	_, rest, _ := strings.Cut(claims, `"exp":`)
	exp, _, _ := strings.Cut(rest, ",")
	all := claimsOf(claimed(abi.ClaimText, "z", "é\n"), claimed(abi.ClaimNumber, "exp", exp), claimed(abi.ClaimNumber, "i", "9007199254740993"),
		claimed(abi.ClaimText, "iss", "i"), claimed(abi.ClaimBool, "f", "false"), claimed(abi.ClaimJSON, "aud", `[ "b","a"]`), claimed(abi.ClaimJSON, "m", `{"x":null}`))
	token := signed(secret, hs256, claims)
	length, _, _ := strings.Cut(all, ":")
	want(t, s.run(verify(token), "verify 0 "+token+" 0", "verify 0 "+token+" 10"), all, length, length)
})

var _ = clause("VERIFY-5", func(t *testing.T) {
	s := verifying(t)
	token := goodToken()
	head, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	claims := func(text string) string { return signed(secret, hs256, text) }
	exp := fmt.Sprintf(`"exp":%d`, time.Now().Add(time.Hour).Unix())
	for name, text := range map[string]string{
		"nothing":            "",
		"one part":           head,
		"two parts":          head + "." + payload,
		"four parts":         token + ".a",
		"padded":             token + "=",
		"a space":            token + " ",
		"another form":       token[:len(token)-1] + other(token[len(token)-1]),
		"none":               base64url(`{"alg":"none"}`) + "." + payload + ".",
		"none, signed":       signed(secret, `{"alg":"none"}`, tokenClaims("")),
		"another algorithm":  signed(secret, `{"alg":"HS512"}`, tokenClaims("")),
		"no algorithm":       signed(secret, `{}`, tokenClaims("")),
		"another key":        signed(secret+".", hs256, tokenClaims("")),
		"another payload":    head + "." + base64url(tokenClaims(`"x":1,`)) + "." + signature,
		"critical":           signed(secret, `{"alg":"HS256","crit":["exp"],"exp":1}`, tokenClaims("")),
		"no mapping":         claims(`[]`),
		"no JSON":            claims(`iss`),
		"a claim twice":      claims(tokenClaims(`"a":1,"a":1,`)),
		"another issuer":     claims(`{"iss":"j","aud":"a",` + exp + `}`),
		"no issuer":          claims(`{"aud":"a",` + exp + `}`),
		"another audience":   claims(`{"iss":"i","aud":"b",` + exp + `}`),
		"other audiences":    claims(`{"iss":"i","aud":["b","c"],` + exp + `}`),
		"no audience":        claims(`{"iss":"i",` + exp + `}`),
		"no end":             claims(`{"iss":"i","aud":"a"}`),
		"an end that is not": claims(`{"iss":"i","aud":"a","exp":"never"}`),
		"sub a number":       claims(tokenClaims(`"sub":1,`)),
		"jti a list":         claims(tokenClaims(`"jti":[],`)),
		"nbf a text":         claims(tokenClaims(`"nbf":"1",`)),
		"iat a text":         claims(tokenClaims(`"iat":"1",`)),
	} {
		if got := s.run(verify(text)); got[0] != untrusted {
			t.Errorf("%s: got %s", name, got[0])
		}
	}
	for _, text := range []string{token, claims(`{"iss":"i","aud":["b","a"],` + exp + `}`)} {
		if got := s.run(verify(text)); !good(got[0]) {
			t.Errorf("got %s", got[0])
		}
	}
})

// other is another last character of the same bytes: HMAC-SHA256 leaves two bits of it unused.
func other(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)^1:][:1]
}

var _ = clause("VERIFY-6", func(t *testing.T) {
	key := keyFile(t, secret)
	strict := open(t, probing("p", verifier("", verifierSpec("file", key, `"HS256"`, 0))))
	lenient := open(t, probing("p", verifier("", verifierSpec("file", key, `"HS256"`, 5*time.Minute))))
	at := func(exp, nbf time.Duration) string {
		return verify(signed(secret, hs256, fmt.Sprintf(`{"iss":"i","aud":"a","exp":%d,"nbf":%d}`, time.Now().Add(exp).Unix(), time.Now().Add(nbf).Unix())))
	}
	for _, c := range []struct {
		exp, nbf        time.Duration
		strict, lenient string // empty if good
	}{
		{time.Hour, -time.Hour, "", ""},
		{-time.Minute, -time.Hour, expired, ""},
		{-10 * time.Minute, -time.Hour, expired, expired},
		{time.Hour, time.Minute, early, ""},
		{time.Hour, 10 * time.Minute, early, early},
	} {
		for s, wanted := range map[*site]string{strict: c.strict, lenient: c.lenient} {
			if got := s.run(at(c.exp, c.nbf))[0]; got != wanted && (wanted != "" || !good(got)) {
				t.Errorf("%v %v: got %s, want %q", c.exp, c.nbf, got, wanted)
			}
		}
	}
})

var _ = clause("VERIFY-7", func(t *testing.T) {
	s := open(t, probing("p", verifier("", verifierSpec("file", keyFile(t, secret), `"HS256"`, 0)), policy(abi.KindLimit, "l", fixed(1, hour))))
	want(t, s.run("verify 0 @16384 10", "verify 0 @16385 10", "verify 1 a 10", "verify -1 a 10"), untrusted, tooLarge, invalid, invalid)
})

// oct is a secret in a key set.
func oct(members, secret string) string {
	return fmt.Sprintf(`{"kty":"oct",%s"k":%q}`, members, base64url(secret))
}

var _ = clause("VERIFY-8", func(t *testing.T) {
	b, c := "b"+secret, "c"+secret
	set := `{"keys":[` + strings.Join([]string{
		oct(`"kid":"a",`, secret), oct(`"kid":"b",`, b), oct(`"kid":"twice",`, b), oct(`"kid":"twice",`, c),
		oct(`"kid":"enc","use":"enc",`, c), oct(`"kid":"alg","alg":"HS384",`, c), `{"kty":"unknown","kid":"a"}`,
	}, ",") + `]}`
	s := open(t, probing("p", verifier("", verifierSpec("jwks", keyFile(t, set), `"HS256"`, 0))))
	for kid, c := range map[string]struct {
		key  string
		good bool
	}{
		`,"kid":"a"`: {secret, true}, `,"kid":"b"`: {b, true}, `,"kid":"none"`: {secret, false}, ``: {secret, false},
		`,"kid":"twice"`: {b, false}, `,"kid":"enc"`: {c, false}, `,"kid":"alg"`: {c, false},
	} {
		got := s.run(verify(signed(c.key, `{"alg":"HS256"`+kid+`}`, tokenClaims(""))))[0]
		if good(got) != c.good || !c.good && got != untrusted {
			t.Errorf("kid %s: got %s", kid, got)
		}
	}
	want(t, s.run(verify(signed(b, `{"alg":"HS256","kid":"a"}`, tokenClaims("")))), untrusted)
	one := open(t, probing("p", verifier("", verifierSpec("jwks", keyFile(t, `{"keys":[`+oct(`"kid":"a",`, secret)+`]}`), `"HS256"`, 0))))
	plain := verifying(t)
	if got := one.run(verify(goodToken()))[0]; !good(got) {
		t.Errorf("no kid and one key: %s", got)
	}
	if got := plain.run(verify(signed(secret, `{"alg":"HS256","kid":"whatever"}`, tokenClaims(""))))[0]; !good(got) {
		t.Errorf("a kid where there is one key: %s", got)
	}
})

var _ = clause("VERIFY-9", func(t *testing.T) {
	key := keyFile(t, secret)
	s := open(t, probing("p", verifier("", verifierSpec("file", key, `"HS256"`, 0))))
	version := s.run(get(abi.FieldVersion, ""))
	next := "the next " + secret
	ask := asking("p", verify(signed(next, hs256, tokenClaims(""))))
	want(t, s.results(s.send(ask), "p"), untrusted)
	rewrite(t, key, next)
	s.await(ask, func(a answer) bool { return good(s.results(a, "p")[0]) })
	want(t, s.run(verify(goodToken())), untrusted)
	rewrite(t, key, "short")
	s.log.line(t, "keys of tokens", "too short")
	if got := s.results(s.send(ask), "p")[0]; !good(got) {
		t.Errorf("the former key is gone: %s", got)
	}
	want(t, s.run(get(abi.FieldVersion, "")), version...)
})

var _ = clause("VERIFY-10", func(t *testing.T) {
	key := keyFile(t, secret)
	spec := verifierSpec("file", key, `"HS256"`, 0)
	s := open(t, probing("p", verifier("", spec)))
	token := goodToken()
	signature := token[strings.LastIndexByte(token, '.')+1:]
	got := append(s.run(verify(token), verify("a.b.c"), get(abi.FieldConfiguration, ""), get(abi.FieldProperty, "p/key")), s.log.String())
	rewrite(t, key, "a short one")
	got = append(got, s.log.line(t, "keys of tokens"), refusal(t, probing("p", verifier("", spec))))
	rewrite(t, key, secret)
	got = append(got, refusal(t, probing("p", verifier("", strings.Replace(spec, "HS256", "RS256", 1)))))
	for _, text := range got {
		for _, hidden := range []string{secret, base64url(secret), hex.EncodeToString([]byte(secret)), signature, "a short one"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%q is in %q", hidden, text)
			}
		}
	}
})
