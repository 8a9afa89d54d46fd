package token

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
)

func TestEveryAlgorithm(t *testing.T) {
	k := keys()
	secret := string(k.secret)
	for _, c := range []struct {
		algorithm, key string
		signing, other any
	}{
		{"HS256", secret, k.secret, []byte(strings.Repeat("x", 64))},
		{"HS384", secret, k.secret, []byte(strings.Repeat("x", 64))},
		{"HS512", secret, k.secret, []byte(strings.Repeat("x", 64))},
		{"RS256", publicPEM(k.rsa), k.rsa, must(newRSA())},
		{"PS256", publicPEM(k.rsa), k.rsa, must(newRSA())},
		{"ES256", publicPEM(k.ec), k.ec, k.other},
		{"EdDSA", publicPEM(k.ed), k.ed, must(newEd25519())},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			v := open(t, c.key, c.algorithm)
			good := sign(c.algorithm, c.signing, claims())
			wantOutcome(t, v, good, Good)
			wantOutcome(t, v, sign(c.algorithm, c.other, claims()), WrongSignature)
			head, signature := good[:strings.LastIndexByte(good, '.')], good[strings.LastIndexByte(good, '.'):]
			wantOutcome(t, v, head[:strings.IndexByte(head, '.')+1]+part(claims("sub", "other"))+signature, WrongSignature)
			for _, wrong := range abi.TokenAlgorithms() {
				if wrong != c.algorithm {
					wantOutcome(t, v, part(`{"alg":"`+wrong+`"}`)+good[strings.IndexByte(good, '.'):], WrongAlgorithm)
				}
			}
		})
	}
}

func TestRefusedTokens(t *testing.T) {
	k := keys()
	hs := open(t, string(k.secret), "HS256")
	rs := open(t, publicPEM(k.rsa), "RS256")
	good := sign("HS256", k.secret, claims())
	head, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	for _, c := range []struct {
		name string
		v    *Verifier
		text string
		want Outcome
	}{
		{"as it should be", hs, good, Good},
		{"alg none", hs, part(`{"alg":"none"}`) + "." + payload + ".", Malformed},
		{"alg none with a signature", hs, part(`{"alg":"none"}`) + "." + payload + "." + signature, WrongAlgorithm},
		{"alg None", hs, part(`{"alg":"None"}`) + "." + payload + "." + signature, WrongAlgorithm},
		{"alg in small letters", hs, forge(k.secret, `{"alg":"hs256"}`, claims()), WrongAlgorithm},
		{"no alg", hs, forge(k.secret, `{"typ":"JWT"}`, claims()), WrongAlgorithm},
		{"alg a number", hs, forge(k.secret, `{"alg":256}`, claims()), WrongAlgorithm},
		{"alg twice", hs, forge(k.secret, `{"alg":"HS256","alg":"none"}`, claims()), Malformed},
		{"a public key as the secret", rs, forge([]byte(publicPEM(k.rsa)), `{"alg":"HS256"}`, claims()), WrongAlgorithm},
		{"critical parameters", hs, forge(k.secret, `{"alg":"HS256","crit":["exp"],"exp":1}`, claims()), Critical},
		{"no critical parameters, named", hs, forge(k.secret, `{"alg":"HS256","crit":[]}`, claims()), Critical},
		{"unencoded payload", hs, forge(k.secret, `{"alg":"HS256","b64":false,"crit":["b64"]}`, claims()), Critical},
		{"a key of its own", hs, sign("ES256", k.ec, claims()), WrongAlgorithm},
		{"kid a number", hs, forge(k.secret, `{"alg":"HS256","kid":1}`, claims()), Malformed},
		{"header a list", hs, forge(k.secret, `["HS256"]`, claims()), Malformed},
		{"no header", hs, "." + payload + "." + signature, Malformed},
		{"no payload", hs, head + ".." + signature, Malformed},
		{"no signature", hs, head + "." + payload + ".", Malformed},
		{"two parts", hs, head + "." + payload, Malformed},
		{"four parts", hs, good + "." + signature, Malformed},
		{"five parts, as if encrypted", hs, good + ".a.a", Malformed},
		{"JSON form", hs, `{"payload":"` + payload + `","protected":"` + head + `","signature":"` + signature + `"}`, Malformed},
		{"empty", hs, "", Malformed},
		{"padded", hs, good + "=", Malformed},
		{"standard base64", hs, head + "." + payload + "." + strings.Repeat("+", 43), Malformed},
		{"a space", hs, head + ". " + payload + "." + signature, Malformed},
		{"a line break", hs, good + "\n", Malformed},
		{"bits beyond the last byte", hs, good[:len(good)-1] + string(beside(good[len(good)-1])), Malformed},
		{"too long", hs, good + strings.Repeat("A", abi.MaxToken), TooLarge},
		{"claims a list", hs, forge(k.secret, `{"alg":"HS256"}`, `[1]`), Malformed},
		{"claims null", hs, forge(k.secret, `{"alg":"HS256"}`, `null`), Malformed},
		{"claims twice", hs, forge(k.secret, `{"alg":"HS256"}`, claims()+claims()), Malformed},
		{"claims no JSON", hs, forge(k.secret, `{"alg":"HS256"}`, `sub=1`), Malformed},
		{"claims no UTF-8", hs, forge(k.secret, `{"alg":"HS256"}`, claims("sub", nil)[:10]+"\xff"), Malformed},
		{"a claim twice", hs, forge(k.secret, `{"alg":"HS256"}`, strings.Replace(claims(), "{", `{"sub":"u-2",`, 1)), Malformed},
		{"a claim twice, escaped", hs, forge(k.secret, `{"alg":"HS256"}`, strings.Replace(claims(), "{", `{"s\u0075b":"u-2",`, 1)), Malformed},
		{"half a character", hs, forge(k.secret, `{"alg":"HS256"}`, strings.Replace(claims(), "{", `{"x":"\ud800",`, 1)), Malformed},
		{"sub a number", hs, sign("HS256", k.secret, claims("sub", 7)), Malformed},
		{"iss a list", hs, sign("HS256", k.secret, claims("iss", []string{issuer})), Malformed},
		{"exp a text", hs, sign("HS256", k.secret, claims("exp", "1900000000")), Malformed},
		{"exp below 0", hs, sign("HS256", k.secret, claims("exp", -1)), Malformed},
		{"exp beyond the calendar", hs, sign("HS256", k.secret, claims("exp", 1e18)), Malformed},
		{"no exp", hs, sign("HS256", k.secret, claims("exp", nil)), Malformed},
		{"exp null", hs, forge(k.secret, `{"alg":"HS256"}`, strings.Replace(claims("exp", nil), "{", `{"exp":null,`, 1)), Malformed},
		{"nbf a text", hs, sign("HS256", k.secret, claims("nbf", "1")), Malformed},
		{"iat a text", hs, sign("HS256", k.secret, claims("iat", "1")), Malformed},
		{"wrong issuer", hs, sign("HS256", k.secret, claims("iss", issuer+"/")), WrongIssuer},
		{"no issuer", hs, sign("HS256", k.secret, claims("iss", nil)), WrongIssuer},
		{"wrong audience", hs, sign("HS256", k.secret, claims("aud", "Edge")), WrongAudience},
		{"no audience", hs, sign("HS256", k.secret, claims("aud", nil)), WrongAudience},
		{"no audience in the list", hs, sign("HS256", k.secret, claims("aud", []string{})), WrongAudience},
		{"other audiences", hs, sign("HS256", k.secret, claims("aud", []string{"a", "b"})), WrongAudience},
		{"one of several audiences", hs, sign("HS256", k.secret, claims("aud", []string{"a", audience})), Good},
		{"a number among audiences", hs, sign("HS256", k.secret, claims("aud", []any{audience, 1})), Malformed},
		{"null among audiences", hs, sign("HS256", k.secret, claims("aud", []any{audience, nil})), Malformed},
		{"audience a mapping", hs, sign("HS256", k.secret, claims("aud", map[string]string{"a": audience})), Malformed},
		{"kid of nobody means nothing to one key", hs, sign("HS256", k.secret, claims(), "kid", "whatever"), Good},
	} {
		t.Run(c.name, func(t *testing.T) { wantOutcome(t, c.v, c.text, c.want) })
	}
}

// beside is a character of base64url that differs in its lowest bit alone.
func beside(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[sextets[c]^1]
}

func TestTimes(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		name     string
		leeway   time.Duration
		exp, nbf float64 // seconds from now
		want     Outcome
	}{
		{"good", 0, 1, 0, Good},
		{"it ends now", 0, 0, -10, Expired},
		{"it ends in a moment", 0, 0.5, -10, Good},
		{"within the leeway", 30 * time.Second, -29.5, -60, Good},
		{"at the leeway's end", 30 * time.Second, -30, -60, Expired},
		{"it begins now", 0, 10, 0, Good},
		{"it begins in a moment", 0, 10, 0.5, Early},
		{"it begins at the leeway's end", 30 * time.Second, 60, 30, Good},
		{"it begins beyond the leeway", 30 * time.Second, 60, 30.5, Early},
		{"it ends before it begins", 0, -1, 1, Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := open(t, string(k.secret), "HS256")
			v.spec.Leeway = c.leeway
			at := float64(now.Unix())
			wantOutcome(t, v, sign("HS256", k.secret, claims("exp", at+c.exp, "nbf", at+c.nbf)), c.want)
		})
	}
}

func TestClaimsAreTold(t *testing.T) {
	k := keys()
	v := open(t, string(k.secret), "HS256")
	text := forge(k.secret, `{"alg":"HS256"}`, ` { "iss":"`+issuer+`", "aud":["a","edge"], "exp":1800000060.5,
		"a\u00e9/b":"x\n\"\u00e9", "n":-1.50e2, "big":9007199254740993, "t":true, "f":false, "nil":null,
		"list":[ 1, {"a":"b"} ], "map":{}, "":"empty name" } `)
	want := []string{
		"1 iss " + issuer, `4 aud ["a","edge"]`, "2 exp 1800000060.5", "1 aé/b x\n\"é", "2 n -1.50e2",
		"2 big 9007199254740993", "3 t true", "3 f false", `4 list [ 1, {"a":"b"} ]`, "4 map {}", "1  empty name",
	}
	if got := told(t, v, text); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Outcomes() {
		if o.String() == "" || seen[o.String()] {
			t.Errorf("%d is called %q", o, o)
		}
		seen[o.String()] = true
	}
	if !seen[Early.String()] || len(seen) != int(Early)+1 {
		t.Errorf("%d names", len(seen))
	}
}

func BenchmarkVerify(b *testing.B) {
	k := keys()
	for _, c := range []struct {
		algorithm, key string
		signing        any
	}{
		{"HS256", string(k.secret), k.secret},
		{"RS256", publicPEM(k.rsa), k.rsa},
		{"ES256", publicPEM(k.ec), k.ec},
		{"EdDSA", publicPEM(k.ed), k.ed},
	} {
		b.Run(c.algorithm, func(b *testing.B) {
			v := open(b, c.key, c.algorithm)
			text := []byte(sign(c.algorithm, c.signing, claims()))
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var outcome Outcome
				if buf, outcome = v.Verify(buf[:0], text); outcome != Good {
					b.Fatal(outcome)
				}
			}
		})
	}
}
