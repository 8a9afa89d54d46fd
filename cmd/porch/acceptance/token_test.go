package acceptance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/porchedge/porch/abi"
)

// tokenSecret signs tokens by HMAC.
const tokenSecret = "a secret of more than 32 bytes, of tests alone"

// jwt is the filter for tokens of the issuer for the audience "edge".
func jwt(config string) filter {
	return filter{name: "auth", module: "builtin:jwt", settings: patient,
		config: `issuer: https://issuer.example, audience: edge, ` + config}
}

// byEnvironment is a process whose filter takes tokens that are signed with the secret of its environment.
func byEnvironment(t *testing.T, to, further string) *process {
	t.Helper()
	p := prepare(t, config{to: to, filters: []filter{jwt("algorithms: [HS256], key: { env: JWT_SECRET }" + further)}})
	p.env = []string{"JWT_SECRET=" + tokenSecret}
	p.begin()
	return p
}

// signer makes tokens.
type signer struct {
	t         *testing.T
	algorithm jose.SignatureAlgorithm
	key       any
	id        string
}

// token is a good one, with claims changed: name and value in turn, nil takes one away.
func (s signer) token(changes ...any) string {
	s.t.Helper()
	claims := map[string]any{
		"iss": "https://issuer.example", "aud": "edge", "sub": "u-1", "exp": time.Now().Add(time.Hour).Unix(),
	}
	for i := 0; i < len(changes); i += 2 {
		if name := changes[i].(string); changes[i+1] == nil {
			delete(claims, name)
		} else {
			claims[name] = changes[i+1]
		}
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		s.t.Fatal(err)
	}
	options := &jose.SignerOptions{}
	if s.id != "" {
		options.WithHeader("kid", s.id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: s.algorithm, Key: s.key}, options)
	if err != nil {
		s.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func hmacSigner(t *testing.T) signer {
	return signer{t: t, algorithm: jose.HS256, key: []byte(tokenSecret)}
}

// curveSigner has a new key under an id.
func curveSigner(t *testing.T, id string) (signer, *ecdsa.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{t, jose.ES256, key, id}, &key.PublicKey
}

func bearer(token string) request { return request{header: header("Authorization", "Bearer "+token)} }

// wantChallenge asks for a refusal that says so.
func wantChallenge(t *testing.T, r reply, status int, words string) {
	t.Helper()
	got := r.header.Get("WWW-Authenticate")
	if r.status != status || !strings.HasPrefix(got, "Bearer realm=") || !strings.Contains(got, words) {
		t.Errorf("%d %q, want %d with %q", r.status, got, status, words)
	}
	if kind := r.header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("Content-Type %q", kind)
	}
}

// Requests pass with a good token alone.
func TestTokens(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := byEnvironment(t, up.address, ", leeway: 30s")
	cl, s := p.client(), hmacSigner(t)
	good := s.token()
	now := time.Now()
	other := s
	other.key = []byte(strings.Repeat("x", 64))
	curve, public := curveSigner(t, "")
	confused := s
	confused.key = publicPEM(t, public)
	part := base64.RawURLEncoding.EncodeToString
	_, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	for name, c := range map[string]struct {
		r      request
		status int
		words  string
	}{
		"good":                           {bearer(good), 200, ""},
		"good, the scheme in capitals":   {request{header: header("authorization", "BEARER "+good)}, 200, ""},
		"good, one of several audiences": {bearer(s.token("aud", []string{"a", "edge"})), 200, ""},
		"over, within the leeway":        {bearer(s.token("exp", now.Add(-10*time.Second).Unix())), 200, ""},
		"no token":                       {request{}, 401, ""},
		"another scheme":                 {request{header: header("Authorization", "Basic dTpw")}, 401, ""},
		"over":                           {bearer(s.token("exp", now.Add(-time.Minute).Unix())), 401, "expired"},
		"not yet":                        {bearer(s.token("nbf", now.Add(time.Hour).Unix())), 401, "not valid yet"},
		"no end":                         {bearer(s.token("exp", nil)), 401, "invalid_token"},
		"another issuer":                 {bearer(s.token("iss", "https://other.example")), 401, "invalid_token"},
		"no issuer":                      {bearer(s.token("iss", nil)), 401, "invalid_token"},
		"another audience":               {bearer(s.token("aud", "other")), 401, "invalid_token"},
		"another key":                    {bearer(other.token()), 401, "invalid_token"},
		"another algorithm":              {bearer(curve.token()), 401, "invalid_token"},
		"a public key as the secret":     {bearer(confused.token()), 401, "invalid_token"},
		"alg none":                       {bearer(part([]byte(`{"alg":"none"}`)) + "." + payload + "."), 401, "invalid_token"},
		"alg none, signed":               {bearer(part([]byte(`{"alg":"none"}`)) + "." + payload + "." + signature), 401, "invalid_token"},
		"nonsense":                       {bearer("nonsense"), 401, "invalid_token"},
		"nothing":                        {request{header: header("Authorization", "Bearer")}, 401, "invalid_token"},
		"two lines":                      {request{header: header("Authorization", "Bearer "+good, "Authorization", "Bearer "+good)}, 400, "invalid_request"},
	} {
		got := cl.send(c.r)
		if c.status == 200 {
			if wantStatus(t, got, 200); got.header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s: a challenge", name)
			}
			continue
		}
		t.Log(name)
		wantChallenge(t, got, c.status, c.words)
		if strings.Contains(got.header.Get("WWW-Authenticate"), "error") != (c.words != "") {
			t.Errorf("%s: %q", name, got.header.Get("WWW-Authenticate"))
		}
	}
	up.wantRows(4)
	m := p.metrics()
	if n := m.sum("porch_tokens_verified_total", `outcome="good"`); n != 4 {
		t.Errorf("%v good tokens are counted", n)
	}
	for _, secret := range []string{tokenSecret, good, signature} {
		if strings.Contains(p.stderr.String(), secret) {
			t.Error("the log has a secret in it")
		}
	}
}

func publicPEM(t *testing.T, key *ecdsa.PublicKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// The token ends at Porch where that is wanted, and goes on where not.
func TestTokenIsRemoved(t *testing.T) {
	t.Parallel()
	for further, want := range map[string]bool{"": true, ", remove: true": false} {
		up := newUpstream(t)
		p := byEnvironment(t, up.address, further)
		wantStatus(t, p.client().send(bearer(hmacSigner(t).token())), 200)
		if _, there := up.last().header["Authorization"]; there != want {
			t.Errorf("with %q: %v", further, there)
		}
	}
}

// Filters after it read the verified identity; whatever a client says of itself counts for nothing.
func TestIdentityIsTold(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	for property, c := range map[string]struct{ claim, value string }{
		"auth/subject":         {"sub", "u-1"},
		"auth/claim.tenant_id": {"tenant_id", "t-1"},
	} {
		p := prepare(t, config{to: up.address, filters: []filter{
			jwt("algorithms: [HS256], key: { env: JWT_SECRET }, optional: true"),
			{name: "tell", module: "./tell.wasm", settings: patient},
		}})
		p.replace("tell.wasm", telling(property))
		p.env = []string{"JWT_SECRET=" + tokenSecret}
		p.begin()
		cl := p.client()
		forged := header("auth-subject", "u-2", "subject", "u-2", "X-Auth-Subject", "u-2", "claim.tenant_id", "t-2", "auth-claim.tenant_id", "t-2")
		without := request{header: forged}
		if got, there := cl.send(without).header["X-Tell"]; there {
			t.Errorf("%s without a token is %q", property, got)
		}
		with := bearer(hmacSigner(t).token(c.claim, c.value))
		for name, values := range forged {
			with.header[name] = values
		}
		if got := cl.send(with).header["X-Tell"]; len(got) != 1 || got[0] != c.value {
			t.Errorf("%s is %q", property, got)
		}
		wantChallenge(t, cl.send(bearer("nonsense")), 401, "invalid_token")
	}
	up.wantRows(4)
}

// A token can be for one body alone.
func TestTokenForOneBody(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := byEnvironment(t, up.address, ", body_hash: body_sha256, max_request: 1KiB")
	cl, s := p.client(), hmacSigner(t)
	const body = `{"amount":10}`
	sum := sha256.Sum256([]byte(body))
	send := func(method, token, body string) reply {
		return cl.send(request{method: method, body: body, header: header("Authorization", "Bearer "+token)})
	}
	byHex, byBase64 := s.token("body_sha256", hex.EncodeToString(sum[:])), s.token("body_sha256", base64.RawURLEncoding.EncodeToString(sum[:]))
	wantStatus(t, send("POST", byHex, body), 200)
	wantStatus(t, send("PUT", byBase64, body), 200)
	wantChallenge(t, send("POST", byHex, `{"amount":99}`), 401, "not made for this body")
	wantChallenge(t, send("POST", byHex, ""), 401, "not made for this body")
	wantChallenge(t, send("GET", byHex, ""), 401, "not made for this body")
	wantChallenge(t, send("POST", s.token(), body), 401, "not made for this body")
	wantStatus(t, send("POST", byHex, strings.Repeat(" ", 1025)), http.StatusRequestEntityTooLarge)
	up.wantRows(2)
	for _, row := range up.rows() {
		if row.body != body {
			t.Errorf("upstream has %q", row.body)
		}
	}
}

// keySet writes public keys as a JWKS.
func keySet(t *testing.T, keys map[string]*ecdsa.PublicKey) []byte {
	t.Helper()
	var set jose.JSONWebKeySet
	for id, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{KeyID: id, Key: key, Use: "sig"})
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Keys rotate under traffic: new ones are published, then used, then old ones are taken away, and no request
// fails. A broken file between changes nothing.
func TestKeysRotateUnderTraffic(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	old, oldKey := curveSigner(t, "old")
	next, nextKey := curveSigner(t, "next")
	p := prepare(t, config{to: up.address, filters: []filter{jwt("algorithms: [ES256], key: { jwks: keys.json }")}})
	p.replace("keys.json", keySet(t, map[string]*ecdsa.PublicKey{"old": oldKey}))
	p.begin()
	var current atomic.Value
	current.Store(old.token())
	cl := p.client()
	stop := make(chan struct{})
	var answered atomic.Int64
	ended := start(8, func(i int) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := cl.try(bearer(current.Load().(string)))
			if err != nil || r.status != 200 {
				t.Errorf("%d %v %s", r.status, err, r.header.Get("WWW-Authenticate"))
				return
			}
			answered.Add(1)
		}
	})
	changed := func(result string) float64 {
		return p.metrics().sum("porch_token_keys_changed_total", fmt.Sprintf("result=%q", result))
	}
	more := func() {
		before := answered.Load()
		await(t, "requests go on", func() bool { return answered.Load() >= before+100 || t.Failed() })
	}
	wantChallenge(t, cl.send(bearer(next.token())), 401, "invalid_token")
	more()
	p.replace("keys.json", keySet(t, map[string]*ecdsa.PublicKey{"old": oldKey, "next": nextKey}))
	await(t, "both keys", func() bool { return changed("taken") == 1 })
	current.Store(next.token())
	more()
	p.replace("keys.json", []byte(`{"keys":[`))
	await(t, "the broken file is noticed", func() bool { return changed("refused") == 1 })
	more()
	p.replace("keys.json", keySet(t, map[string]*ecdsa.PublicKey{"next": nextKey}))
	await(t, "the new key alone", func() bool { return changed("taken") == 2 })
	more()
	close(stop)
	ended()
	wantChallenge(t, cl.send(bearer(old.token())), 401, "invalid_token")
	wantStatus(t, cl.send(bearer(next.token())), 200)
	if loads := p.metrics().sum(filterLoads, `filter="auth"`); loads != 1 {
		t.Errorf("the filter was loaded %v times", loads)
	}
}

// What is wrong with a key is told at its place, and never the key.
func TestWrongKeyIsNamed(t *testing.T) {
	t.Parallel()
	_, public := curveSigner(t, "")
	for name, c := range map[string]struct {
		config, env string
		words       []string
	}{
		"no variable":                {"algorithms: [HS256], key: { env: JWT_SECRET }", "", []string{"auth.config.key.env", "no variable"}},
		"too short":                  {"algorithms: [HS256], key: { env: JWT_SECRET }", "a short one", []string{"auth.config.key.env", "at least 32"}},
		"a public key as the secret": {"algorithms: [HS256], key: { file: public.pem }", "", []string{"auth.config.key.file", "does not fit HS256"}},
		"no file":                    {"algorithms: [RS256], key: { jwks: none.json }", "", []string{"auth.config.key.jwks", "no such file"}},
		"none":                       {"algorithms: [none], key: { env: JWT_SECRET }", tokenSecret, []string{"auth.config.algorithms.0", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(t, config{to: freeAddress(t), filters: []filter{jwt(c.config)}})
			p.replace("public.pem", publicPEM(t, public))
			p.env = []string{"JWT_SECRET=" + c.env}
			p.args = []string{"check", "--config", p.file()}
			p.spawn()
			if code := p.exitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			log := p.stderr.String()
			for _, w := range append(c.words, "porch.yaml:") {
				if !strings.Contains(log, w) {
					t.Errorf("%q is not told", w)
				}
			}
			if c.env != "" && strings.Contains(log, c.env) {
				t.Error("the secret is told")
			}
		})
	}
}

// telling is a filter that sets the response field X-Tell to a property, if it is there.
func telling(property string) []byte {
	const field, at, size = "X-Tell", 512, 512
	get := call(0, int32(abi.FieldProperty), 0, int32(len(property)), at, size)
	request := append(append(constant(0), get...), opLess, opIf, noResult)
	for _, n := range []int32{int32(abi.FieldResponseHeader), int32(len(property)), int32(len(field)), at} {
		request = append(request, constant(n)...)
	}
	request = append(append(request, get...), opCall, 1, opDrop, opEnd)
	return guest{[]string{abi.FuncGet, abi.FuncSet}, append(request, constant(0)...), property + field, nil}.module()
}
