package wasmtests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
)

var _ = clause("WRITE-1", func(t *testing.T) {
	s := open(t, probing("p"), probing("q"))
	a := s.send(asking("p", set(abi.FieldAuthority, "", "other:8080"), set(abi.FieldPath, "", "/x%2Fy//"), set(abi.FieldQuery, "", "a=%41&"),
		set(abi.FieldRequestHeader, "X-New", "v")).
		with(func(r *request) {
			r.target, r.method, r.body = "/a?b", "POST", "body"
			r.header = append(r.header, "Probe-Request-q", join([]string{get(abi.FieldAuthority, ""), get(abi.FieldPath, ""), get(abi.FieldQuery, ""), get(abi.FieldRequestHeader, "x-new")}), "X-Old", "o")
		}))
	want(t, s.results(a, "p"), done, done, done, done)
	want(t, s.results(a, "q"), "10:other:8080", "8:/x%2Fy//", "6:a=%41&", "1:v")
	r, body := s.up.last()
	want(t, []string{r.Host, r.RequestURI, r.Header.Get("X-New"), r.Header.Get("X-Old"), r.Method, body}, "other:8080", "/x%2Fy//?a=%41&", "v", "o", "POST", "body")
})

var _ = clause("WRITE-2", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", set(abi.FieldRequestHeader, "x-a", "new"), add(abi.FieldRequestHeader, "X-B", "three"), remove(abi.FieldRequestHeader, "x-c"),
		add(abi.FieldResponseHeader, "X-D", "1"), add(abi.FieldResponseHeader, "X-D", "2"), set(abi.FieldResponseHeader, "X-Up", "mine")).
		inResponse("p", add(abi.FieldResponseHeader, "X-D", "3"), remove(abi.FieldResponseHeader, "X-Gone")).
		with(func(r *request) {
			r.header = append(r.header, "X-A", "one", "X-A", "two", "X-B", "one", "X-B", "two", "X-C", "one", "X-C", "two")
		}))
	_ = a
	r, _ := s.up.last()
	want(t, r.Header["X-A"], "new")
	want(t, r.Header["X-B"], "one", "two", "three")
	want(t, r.Header["X-C"])
	want(t, a.header["X-D"], "1", "2", "3")
	want(t, a.header["X-Up"], "mine")
})

var _ = clause("WRITE-3", func(t *testing.T) {
	s := open(t, probing("p"))
	s.up.does(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Up", "u") })
	a := s.send(asking("p", remove(abi.FieldResponseHeader, "X-Up"), remove(abi.FieldResponseHeader, "X-None"),
		add(abi.FieldResponseHeader, "X-A", "1"), set(abi.FieldResponseHeader, "X-A", "2"), add(abi.FieldResponseHeader, "X-A", "3")).
		inResponse("p", get(abi.FieldResponseHeader, "X-Up"), get(abi.FieldResponseHeader, "X-A"), remove(abi.FieldResponseHeader, "X-None"),
			remove(abi.FieldResponseHeader, "X-A"), get(abi.FieldResponseHeader, "X-A"), set(abi.FieldResponseHeader, "X-B", "b"), get(abi.FieldResponseHeader, "X-B")))
	want(t, s.results(a, "p"), done, done, done, done, done)
	want(t, s.backResults(a, "p"), absent, "1:2", absent, done, absent, done, "1:b")
})

var _ = clause("WRITE-4", func(t *testing.T) {
	names := []string{"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Host", "content-LENGTH"}
	var calls []string
	for _, name := range names {
		calls = append(calls, set(abi.FieldResponseHeader, name, "v"), add(abi.FieldResponseHeader, name, "v"), remove(abi.FieldResponseHeader, name))
	}
	s := open(t, probing("p"))
	for _, r := range slices.Concat(s.run(calls...), s.runBack(calls...), s.run(strings.Split(strings.ReplaceAll(join(calls), " 18 ", " 7 "), ";")...)) {
		if r != denied {
			t.Errorf("got %s", r)
		}
	}
})

var _ = clause("WRITE-5", func(t *testing.T) {
	s := open(t, probing("p"))
	f := abi.FieldResponseHeader
	calls := []string{
		set(f, "a b", "v"), set(f, "a:", "v"), set(f, "a\r\nb", "v"), set(f, "ä", "v"), set(f, "", "v"),
		set(f, "A", "v\r\nX-Evil: 1"), set(f, "A", "v\n"), set(f, "A", "v\r"), set(f, "A", "v\x00"),
		set(f, "@257", "v"), set(f, "A", "@65537"), add(f, "A", "v\nw"), remove(f, "a b"), remove(f, "@257"),
	}
	expected := append(slices.Repeat([]string{invalid}, 9), tooLarge, tooLarge, invalid, invalid, tooLarge)
	want(t, s.run(calls...), expected...)
	want(t, s.runBack(calls...), expected...)
	want(t, s.run(strings.Split(strings.ReplaceAll(join(calls), " 18 ", " 7 "), ";")...), expected...)
	a := s.send(asking("p", set(f, "X-A", "tab\tand \xff~"), set(f, "!#$%&'*+-.^_`|~", "v")))
	want(t, s.results(a, "p"), done, done)
	want(t, []string{a.header.Get("X-A")}, "tab\tand \xff~")
	want(t, s.run(set(abi.FieldRequestHeader, "@256", "@65536"), remove(abi.FieldRequestHeader, "@256")), done, done)
})

var _ = clause("WRITE-6", func(t *testing.T) {
	s := open(t, probing("p"))
	bad := func(f abi.Field, values ...string) {
		t.Helper()
		for _, v := range values {
			if got := s.run(set(f, "", v)); got[0] != invalid {
				t.Errorf("field %d set to %q: %s", f, v, got[0])
			}
		}
	}
	bad(abi.FieldPath, "", "a", "/a b", "/a?b", "/a#b", "/a\nb", "/ä", "http://x/")
	bad(abi.FieldQuery, "a b", "a#b", "a\r\nb", "ä")
	bad(abi.FieldAuthority, "", "a/b", "a?b", "a#b", "a@b", "a b", "a\nb")
	want(t, s.run(set(abi.FieldQuery, "", "@8192"), set(abi.FieldQuery, "", "@8193"), set(abi.FieldAuthority, "", "@8193"), set(abi.FieldPath, "", "@8193"),
		set(abi.FieldQuery, "", "?a/b"), set(abi.FieldPath, "", "/"), set(abi.FieldAuthority, "", "[::1]:80")),
		done, tooLarge, tooLarge, tooLarge, done, done, done)
})

var _ = clause("WRITE-7", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", set(abi.FieldPath, "", "/b"), get(abi.FieldRoutePath, ""), get(abi.FieldRoute, "")).with(func(r *request) { r.target = "/a" }))
	want(t, s.results(a, "p"), done, "2:/a", "1:/")
	r, _ := s.up.last()
	want(t, []string{r.RequestURI}, "/b")
})

var _ = clause("WRITE-8", func(t *testing.T) {
	s := open(t, probing("p"))
	for command, target := range map[string]string{set(abi.FieldQuery, "", ""): "/a?", remove(abi.FieldQuery, ""): "/a"} {
		a := s.send(asking("p", command).with(func(r *request) { r.target = "/a?b" }))
		want(t, s.results(a, "p"), done)
		r, _ := s.up.last()
		want(t, []string{r.RequestURI}, target)
	}
	want(t, s.run(remove(abi.FieldQuery, "")), absent)
})

var _ = clause("WRITE-9", func(t *testing.T) {
	s := open(t, probing("p"))
	f := abi.FieldResponseStatus
	want(t, s.runBack(set(f, "", "99"), set(f, "", "199"), set(f, "", "600"), set(f, "", "abc"), set(f, "", "0200"), set(f, "", ""), set(f, "", "20")),
		invalid, invalid, invalid, invalid, invalid, invalid, invalid)
	for _, status := range []int{200, 404, 599} {
		s.wantStatus(s.send(request{}.inResponse("p", set(f, "", fmt.Sprint(status)))), status)
	}
})

var _ = clause("WRITE-10", func(t *testing.T) {
	s := open(t, probing("p"))
	for _, f := range []abi.Field{abi.FieldRequestHeader, abi.FieldResponseHeader} {
		// The probe itself needs one operation to report.
		want(t, s.run(fmt.Sprintf("times 255 set %d X-A v", f)), done)
		a := s.send(asking("p", fmt.Sprintf("times 257 set %d X-A v", f)))
		s.wantStatus(a, 200)
	}
	one := probing("p")
	one.Instances = 1
	s = open(t, one)
	s.send(asking("p", "times 256 set 18 X-A v", "set 18 X-A v", "remove 18 X-A"))
	_, text, _ := strings.Cut(s.run("recall")[0], ":")
	want(t, unescaped(t, text), done, tooLarge, tooLarge)
})

var _ = clause("WRITE-11", func(t *testing.T) {
	s := open(t, probing("p"))
	for _, f := range []abi.Field{abi.FieldMethod, abi.FieldScheme, abi.FieldRoutePath, abi.FieldPeer, abi.FieldClient, abi.FieldRequestID,
		abi.FieldRoute, abi.FieldFilter, abi.FieldVersion, abi.FieldConfiguration, abi.FieldOutcome} {
		want(t, s.run(set(f, "", "v"), add(f, "", "v"), remove(f, "")), denied, denied, denied)
		want(t, s.runBack(set(f, "", "v")), denied)
	}
	want(t, s.run(set(abi.FieldResponseStatus, "", "200")), wrongPhase)
	want(t, s.runBack(set(abi.FieldPath, "", "/a"), set(abi.FieldQuery, "", "a"), remove(abi.FieldQuery, ""), set(abi.FieldAuthority, "", "a"),
		set(abi.FieldRequestHeader, "A", "b"), remove(abi.FieldRequestHeader, "A"), set(abi.FieldResponseBody, "", "b")),
		wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase)
	want(t, s.run(set(0, "", "v"), set(99, "", "v"), set(abi.FieldRequestBody, "", "v"), add(abi.FieldPath, "", "/a"), remove(abi.FieldPath, ""),
		add(abi.FieldProperty, "a", "b"), remove(abi.FieldAuthority, ""), add(abi.FieldQuery, "", "a"), remove(abi.FieldResponseBody, "")),
		invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid)
	want(t, s.runBack(remove(abi.FieldResponseStatus, ""), add(abi.FieldResponseStatus, "", "200")), invalid, invalid)
})

var _ = clause("WRITE-12", func(t *testing.T) {
	s := open(t, probing("p"))
	want(t, s.run(set(abi.FieldResponseBody, "", "@1048577")), tooLarge)
	a := s.send(asking("p", set(abi.FieldResponseBody, "", "first"), set(abi.FieldResponseBody, "", "@1048576"), respond(200)))
	if len(a.body) != 1<<20 {
		t.Errorf("%d bytes", len(a.body))
	}
	a = s.send(asking("p", set(abi.FieldResponseBody, "", "first"), set(abi.FieldResponseBody, "", "last"), respond(200)))
	want(t, []string{a.body}, "last")
})

var _ = clause("PROP-1", func(t *testing.T) {
	s := open(t, probing("p"))
	f := abi.FieldProperty
	want(t, s.run(set(f, "", "v"), set(f, "a/b", "v"), set(f, "a b", "v"), set(f, "ä", "v"), set(f, "@129", "v"), set(f, "@128", "v"), remove(f, "@128"),
		remove(f, "a/b"), remove(f, "@129")),
		invalid, invalid, invalid, invalid, tooLarge, done, done, invalid, tooLarge)
})

var _ = clause("PROP-2", func(t *testing.T) {
	s := open(t, probing("p"), probing("q"))
	f := abi.FieldProperty
	a := s.send(asking("p", set(f, "who", "alice"), get(f, "p/who"), get(f, "who")).
		inResponse("p", get(f, "p/who"), get(f, "q/late"), set(f, "who", "bob"), get(f, "p/who")).
		inResponse("q", set(f, "late", "yes"), get(f, "p/who"), list(f, "")).
		with(func(r *request) {
			r.header = append(r.header, "Probe-Request-q", join([]string{get(f, "p/who"), list(f, ""), set(f, "p/who", "mallory"), list(f, "p/who")}))
		}))
	want(t, s.results(a, "p"), done, "5:alice", absent)
	want(t, s.results(a, "q"), "5:alice", entries("p/who"), invalid, entries("alice"))
	want(t, s.backResults(a, "q"), done, "5:alice", entries("p/who", "q/late"))
	want(t, s.backResults(a, "p"), "5:alice", "3:yes", done, "3:bob")
})

var _ = clause("PROP-3", func(t *testing.T) {
	f := abi.FieldProperty
	var calls []string
	for i := range 65 {
		calls = append(calls, set(f, fmt.Sprintf("n%d", i), "v"))
	}
	s := open(t, probing("p"))
	got := s.run(append(calls, set(f, "n0", "w"), remove(f, "n0"), set(f, "n64", "@4096"), set(f, "n1", "@4097"))...)
	want(t, got[63:], done, tooLarge, done, done, done, tooLarge)
})

var _ = clause("PROP-4", func(t *testing.T) {
	s := open(t, probing("p"))
	s.run(set(abi.FieldProperty, "who", "alice"))
	a := s.send(asking("p", get(abi.FieldProperty, "p/who"), list(abi.FieldProperty, "")).
		with(func(r *request) { r.header = append(r.header, "p-who", "mallory", "Property", "p/who=mallory") }))
	want(t, s.results(a, "p"), absent, done)
})

var _ = clause("PROP-5", func(t *testing.T) {
	f := abi.FieldProperty
	want(t, open(t, probing("p")).run(set(f, "c", "1"), set(f, "a", "1"), set(f, "b", "1"), set(f, "c", "2"), list(f, ""), remove(f, "a"), remove(f, "a"), list(f, "")),
		done, done, done, done, entries("p/c", "p/a", "p/b"), done, absent, entries("p/c", "p/b"))
})
