package wasmtests

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// entries is a list as the contract writes it, behind its length.
func entries(values ...string) string {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	if len(b) == 0 {
		return done
	}
	return fmt.Sprintf("%d:%s", len(b), b)
}

var _ = clause("GET-1", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", get(abi.FieldMethod, ""), get(abi.FieldScheme, ""), get(abi.FieldAuthority, ""), get(abi.FieldPath, ""),
		get(abi.FieldQuery, ""), get(abi.FieldRoutePath, ""), get(abi.FieldRequestHeader, "X-Bytes"), get(abi.FieldRoute, ""), get(abi.FieldFilter, "")).
		inResponse("p", get(abi.FieldResponseStatus, ""), get(abi.FieldMethod, ""), get(abi.FieldPath, "")).
		with(func(r *request) {
			r.method, r.target = "PUT", "/a?b=c"
			r.header = append(r.header, "X-Bytes", "\xff\xfe~", "Host", "example.com:81")
		}))
	want(t, s.results(a, "p"), "3:PUT", "4:http", "14:example.com:81", "2:/a", "3:b=c", "2:/a", "3:\xff\xfe~", "1:/", "1:p")
	want(t, s.backResults(a, "p"), "3:200", "3:PUT", "2:/a")
	got := s.run(get(abi.FieldRequestID, ""), get(abi.FieldVersion, ""), get(abi.FieldConfiguration, ""))
	if strings.HasPrefix(got[0], "-") || strings.HasPrefix(got[0], "0") {
		t.Errorf("request id: %s", got[0])
	}
	wantIn(t, got[1], "12:")
	wantIn(t, got[2], `:{"probe":""}`)
})

var _ = clause("GET-2", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", get(abi.FieldRequestHeader, "x-a"), get(abi.FieldRequestHeader, "X-B"), get(abi.FieldRequestHeader, "X-C")).
		inResponse("p", get(abi.FieldResponseHeader, "CONTENT-type"), get(abi.FieldResponseHeader, "X-C")).
		with(func(r *request) { r.header = append(r.header, "X-A", "one", "X-A", "two", "X-B", "") }))
	want(t, s.results(a, "p"), "3:one", "0", absent)
	want(t, s.backResults(a, "p"), "25:text/plain; charset=utf-8", absent)
})

var _ = clause("GET-3", func(t *testing.T) {
	s := open(t, probing("p"))
	for target, result := range map[string]string{"/a": absent, "/a?": "0", "/a?b": "1:b", "/a??": "1:?"} {
		a := s.send(asking("p", get(abi.FieldQuery, "")).with(func(r *request) { r.target = target }))
		want(t, s.results(a, "p"), result)
	}
})

var _ = clause("GET-4", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", get(abi.FieldPath, ""), get(abi.FieldRoutePath, "")).with(func(r *request) { r.target = "/a%2Fb//c/../%64" }))
	want(t, s.results(a, "p"), "16:/a%2Fb//c/../%64", "6:/a/b/d")
})

var _ = clause("GET-5", func(t *testing.T) {
	commands := []string{get(abi.FieldPeer, ""), get(abi.FieldClient, "")}
	s := open(t, probing("p"))
	a := s.send(asking("p", commands...).with(func(r *request) { r.header = append(r.header, "X-Forwarded-For", "192.0.2.7") }))
	want(t, s.results(a, "p"), "9:127.0.0.1", "9:127.0.0.1")
	trusting := openWith(t, kit.Setup{Filters: []kit.Filter{probing("p")}, TrustedProxies: []string{"127.0.0.0/8"}})
	for sent, client := range map[string]string{
		"192.0.2.7": "192.0.2.7", "1.1.1.1, 192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:DB8::7": "2001:db8::7", "[2001:db8::7]:80": "2001:db8::7", "192.0.2.7:8080": "192.0.2.7",
	} {
		a := trusting.send(asking("p", commands...).with(func(r *request) { r.header = append(r.header, "X-Forwarded-For", sent) }))
		want(t, trusting.results(a, "p"), "9:127.0.0.1", fmt.Sprintf("%d:%s", len(client), client))
	}
})

var _ = clause("GET-6", func(t *testing.T) {
	s := open(t, probing("p"))
	calls := []string{
		get(0, ""), get(22, ""), get(-1, ""), get(1000, ""), get(abi.FieldRequestBody, ""), get(abi.FieldResponseBody, ""),
		get(abi.FieldRequestHeader, ""), get(abi.FieldProperty, ""), get(abi.FieldResponseHeader, ""), get(abi.FieldMethod, "x"),
	}
	for _, got := range [][]string{s.run(calls...), s.runBack(calls...)} {
		for i, r := range got {
			if r != invalid {
				t.Errorf("%s gives %s", calls[i], r)
			}
		}
	}
})

var _ = clause("GET-7", func(t *testing.T) {
	s := open(t, probing("p"))
	want(t, s.run(get(abi.FieldResponseStatus, ""), get(abi.FieldResponseHeader, "A"), get(abi.FieldOutcome, ""), list(abi.FieldResponseHeader, "")),
		wrongPhase, wrongPhase, wrongPhase, wrongPhase)
})

var _ = clause("GET-8", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindOnce, "o", once())))
	outcome := get(abi.FieldOutcome, "")
	want(t, s.runBack(outcome), absent)
	ask := asking("p", begin(0, "k", "d")).inResponse("p", outcome)
	want(t, s.backResults(s.send(ask), "p"), "8:executed")
	want(t, s.backResults(s.send(ask), "p"), "8:replayed")
	large := open(t, probing("p", policy(abi.KindOnce, "o", onceFor(hour, hour, 1))))
	want(t, large.backResults(large.send(ask), "p"), "8:executed")
	want(t, large.backResults(large.send(ask), "p"), "8:replayed")
})

var _ = clause("LIST-1 LIST-2 LIST-3", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p",
		add(abi.FieldRequestHeader, "X-One", "1"), add(abi.FieldRequestHeader, "x-two", "2"), add(abi.FieldRequestHeader, "x-ONE", ""),
		list(abi.FieldRequestHeader, ""), list(abi.FieldRequestHeader, "x-one"), list(abi.FieldRequestHeader, "X-None"),
		list(abi.FieldProperty, ""), set(abi.FieldProperty, "b", "1"), set(abi.FieldProperty, "a", "2"), list(abi.FieldProperty, "")).
		inResponse("p", list(abi.FieldResponseHeader, ""), list(abi.FieldResponseHeader, "x-up")))
	got := s.results(a, "p")
	if !strings.HasSuffix(got[3], entries("X-One", "x-two")[strings.Index(entries("X-One", "x-two"), ":")+1:]) {
		t.Errorf("names: %q", got[3])
	}
	want(t, got[4:7], entries("1", ""), done, done)
	want(t, got[9:], entries("p/b", "p/a"))
	s.up.does(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Up", "one")
		w.Header().Add("X-Up", "two")
	})
	back := s.runBack(list(abi.FieldResponseHeader, ""), list(abi.FieldResponseHeader, "x-up"))
	if strings.Count(strings.ToLower(back[0]), "x-up") != 1 {
		t.Errorf("names: %q", back[0])
	}
	want(t, back[1:], entries("one", "two"))
})

var _ = clause("LIST-4", func(t *testing.T) {
	s := open(t, probing("p"))
	calls := []string{list(abi.FieldMethod, ""), list(abi.FieldPath, "a"), list(abi.FieldOutcome, ""), list(99, "")}
	want(t, s.run(calls...), invalid, invalid, invalid, invalid)
	want(t, s.runBack(calls...), invalid, invalid, invalid, invalid)
	want(t, s.run(list(abi.FieldResponseHeader, "")), wrongPhase)
})
