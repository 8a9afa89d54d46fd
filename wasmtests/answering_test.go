package wasmtests

import (
	"net/http"
	"testing"

	"github.com/porchedge/porch/abi"
)

var _ = clause("RESP-1", func(t *testing.T) {
	f := probing("p")
	f.Instances = 1
	s := open(t, f, probing("q"))
	for _, status := range []int{200, 302, 404, 429, 599} {
		a := s.send(asking("p", respond(status)).with(func(r *request) { r.header = append(r.header, "Probe-Request-q", "log 1 reached") }))
		s.wantStatus(a, status)
	}
	s.up.wantCount(t, 0)
	want(t, s.run(respond(199), respond(600), respond(0), respond(-1), respond(1200)), invalid, invalid, invalid, invalid, invalid)
	s.up.wantCount(t, 1)
})

var _ = clause("RESP-2", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", set(abi.FieldResponseHeader, "X-A", "a"), add(abi.FieldResponseHeader, "X-B", "1"), add(abi.FieldResponseHeader, "X-B", "2"),
		set(abi.FieldResponseBody, "", "hello"), respond(403)))
	s.wantStatus(a, 403)
	want(t, []string{a.body, a.header.Get("X-A"), a.header.Get("Content-Length")}, "hello", "a", "5")
	want(t, a.header["X-B"], "1", "2")
	if _, err := http.ParseTime(a.header.Get("Date")); err != nil {
		t.Error(err)
	}
	a = s.send(asking("p", respond(403)))
	want(t, []string{a.body, a.header.Get("Content-Length")}, "", "0")
})

var _ = clause("RESP-3", func(t *testing.T) {
	s := open(t, probing("o"), probing("p"))
	a := s.send(asking("p", add(abi.FieldResponseHeader, "X-A", "once"), respond(403)).
		inResponse("p", set(abi.FieldResponseHeader, "X-Own", "called")).inResponse("o", set(abi.FieldResponseHeader, "X-Outer", "called")))
	want(t, a.header["X-A"], "once")
	want(t, []string{a.header.Get("X-Own"), a.header.Get("X-Outer")}, "", "called")
})

var _ = clause("RESP-4", func(t *testing.T) {
	a := open(t, probing("p")).send(asking("p", set(abi.FieldResponseBody, "", "dropped")))
	want(t, []string{a.body}, "up")
})

var _ = clause("RESP-5", func(t *testing.T) {
	s := open(t, probing("p"))
	a := s.send(asking("p", set(abi.FieldResponseHeader, "X-A", "a"), set(abi.FieldResponseBody, "", "hello"), respond(200), "trap"))
	s.wantRefused(a)
	want(t, []string{a.header.Get("X-A")}, "")
	s.wantRefused(s.send(asking("p", respond(200), "return 1")))
	s.up.wantCount(t, 0)
})

var _ = clause("RESP-6", func(t *testing.T) {
	s := open(t, probing("p"))
	for _, status := range []int{204, 304} {
		a := s.send(asking("p", set(abi.FieldResponseBody, "", "hello"), respond(status)))
		s.wantStatus(a, status)
		want(t, []string{a.body}, "")
	}
	a := s.send(asking("p", set(abi.FieldResponseBody, "", "hello"), respond(200)).with(func(r *request) { r.method = "HEAD" }))
	s.wantStatus(a, 200)
	want(t, []string{a.body, a.header.Get("Content-Length")}, "", "5")
})
