package wasmtests

import (
	"context"
	"net/http"
	"testing"

	"github.com/porchedge/porch/abi"
)

// passing records a header in the request phase and adds one on the way back, for each filter named.
func passing(r request, names ...string) request {
	for _, n := range names {
		r.header = append(r.header, "Probe-Request-"+n, add(abi.FieldResponseHeader, "X-Way", n+"-recorded"))
		r = r.inResponse(n, add(abi.FieldResponseHeader, "X-Way", n+"-back"))
	}
	return r
}

var _ = clause("BACK-1 BACK-2", func(t *testing.T) {
	s := open(t, probing("a"), probing("b"), oncePolicy("p", once()))
	way := []string{"b-recorded", "b-back", "a-recorded", "a-back"}
	ways := map[string]request{
		"of the upstream":     {},
		"of a later filter":   asking("p", respond(403)),
		"of the host":         asking("p", "trap"),
		"of an owner":         keyed("k", "d"),
		"of a replay":         keyed("k", "d"),
		"of another mismatch": keyed("k", "e"),
	}
	for _, name := range []string{"of the upstream", "of a later filter", "of the host", "of an owner", "of a replay", "of another mismatch"} {
		a := s.send(passing(ways[name], "a", "b"))
		t.Log(name, a.status)
		want(t, a.header["X-Way"], way...)
	}
	s.up.Close()
	a := s.send(passing(request{}, "a", "b"))
	s.wantStatus(a, http.StatusBadGateway)
	want(t, a.header["X-Way"], way...)
})

var _ = clause("BACK-3", func(t *testing.T) {
	s := open(t, probing("a"), probing("b"))
	a := s.send(request{}.inResponse("b", set(abi.FieldResponseStatus, "", "404"), set(abi.FieldResponseHeader, "X-A", "b")).
		inResponse("a", get(abi.FieldResponseStatus, ""), get(abi.FieldResponseHeader, "X-A"), set(abi.FieldResponseHeader, "X-A", "a"), set(abi.FieldResponseStatus, "", "410")))
	s.wantStatus(a, 410)
	want(t, s.backResults(a, "a"), "3:404", "1:b", done, done)
	want(t, a.header["X-A"], "a")
})

var _ = clause("BACK-4", func(t *testing.T) {
	s := open(t, probing("a"), oncePolicy("p", once()), probing("b"))
	s.send(keyed("k", "d"))
	for _, digest := range []string{"d", "e"} {
		a := s.send(passing(keyed("k", digest).inResponse("p", add(abi.FieldResponseHeader, "X-Way", "p-back")), "a", "b"))
		want(t, a.header["X-Way"], "p-back", "a-recorded", "a-back")
	}
})

var _ = clause("BACK-5", func(t *testing.T) {
	s := open(t, probing("a"), probing("b"), probing("c"))
	a := s.send(passing(request{}, "a", "c").inResponse("b", "trap"))
	s.wantRefused(a)
	want(t, a.header["X-Way"], "a-recorded", "a-back")
	for _, end := range []string{"return 1", "exit 0"} {
		s.wantRefused(s.send(request{}.inResponse("b", end)))
	}
})

var _ = clause("BACK-6", func(t *testing.T) {
	failing := probing("b")
	failing.Open = true
	s := open(t, probing("a"), failing, probing("c"))
	a := s.send(passing(request{}, "a", "c").with(func(r *request) {
		r.header = append(r.header, "Probe-Request-b", join([]string{add(abi.FieldResponseHeader, "X-Way", "b-recorded"), "trap"}))
	}).inResponse("b", add(abi.FieldResponseHeader, "X-Way", "b-back")))
	s.wantStatus(a, 200)
	want(t, a.header["X-Way"], "c-recorded", "c-back", "a-recorded", "a-back")
	a = s.send(passing(asking("a", respond(403)), "c"))
	want(t, a.header["X-Way"])
})

// leaving sends r and goes away once it is at the upstream.
func (s *site) leaving(r request) {
	s.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.server.Addr(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Add(r.header[i], r.header[i+1])
	}
	left := make(chan struct{})
	// stops when the request is cancelled
	go func() {
		defer close(left)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	s.up.awaitOne(s.t)
	leave()
	<-left
}
