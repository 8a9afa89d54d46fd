package wasmtests

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

const (
	reserved  = "0"
	duplicate = "1"
)

// guardFor is the spec of a guard.
func guardFor(ms int) string { return fmt.Sprintf(`{"ttl_ms":%d}`, ms) }

// guardPolicy is a filter with one guard.
func guardPolicy(name string) kit.Filter {
	return probing(name, policy(abi.KindGuard, "g", guardFor(hour)))
}

func reserve(policy int, key string) string { return fmt.Sprintf("reserve %d %s", policy, word(key)) }

var _ = clause("POLICY-9", func(t *testing.T) {
	for name, spec := range map[string]string{
		"no ttl":         `{}`,
		"ttl 0":          `{"ttl_ms":0}`,
		"max_keys below": `{"ttl_ms":1,"max_keys":-1}`,
		"unknown member": `{"ttl_ms":1,"limit":1}`,
		"no JSON":        "ttl",
	} {
		if text := refusal(t, probing("p", policy(abi.KindGuard, "g", spec))); text == "" {
			t.Errorf("%s is taken", name)
		}
	}
	open(t, probing("p", policy(abi.KindGuard, "g", `{"ttl_ms":1,"max_keys":1}`)))
})

var _ = clause("RESERVE-1", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindGuard, "g", guardFor(hour)), policy(abi.KindLimit, "l", fixed(1, hour))))
	want(t, s.run(reserve(1, "k"), reserve(2, "k"), reserve(-1, "k"), reserve(0, ""), reserve(0, "@1025"), reserve(0, "@1024")),
		invalid, invalid, invalid, invalid, invalid, reserved)
})

var _ = clause("RESERVE-2", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindGuard, "g", guardFor(hour)), policy(abi.KindGuard, "short", guardFor(300))))
	s.up.does(answers(500, "failed"))
	want(t, s.run(reserve(0, "k"), reserve(0, "other"), reserve(1, "k")), reserved, reserved, reserved)
	want(t, s.run(reserve(0, "k")), duplicate)
	s.await(asking("p", reserve(1, "k")), func(a answer) bool { return s.results(a, "p")[0] == reserved })
})

var _ = clause("RESERVE-3", func(t *testing.T) {
	s := open(t, guardPolicy("p"))
	s.send(asking("p", reserve(0, "k")))
	a := s.send(asking("p", reserve(0, "k")))
	s.wantStatus(a, 200)
	want(t, s.results(a, "p"), duplicate)
	s.wantStatus(s.send(asking("p", reserve(0, "k"), respond(409))), 409)
	s.up.wantCount(t, 2)
})

var _ = clause("RESERVE-4", func(t *testing.T) {
	s := open(t, guardPolicy("p"), probing("q"))
	by := func(script string) request {
		return asking("p", reserve(0, "k")).with(func(r *request) { r.header = append(r.header, "Probe-Request-q", script) })
	}
	a := s.send(asking("p", reserve(0, "k"), respond(418)))
	s.wantStatus(a, 418)
	for _, script := range []string{respond(403), "trap"} {
		a := s.send(by(script))
		want(t, s.results(a, "p"), reserved)
	}
	s.up.wantCount(t, 0)
	a = s.send(by("log 1 on"))
	want(t, s.results(a, "p"), reserved)
	s.wantStatus(a, 200)
	// A duplicate that is answered gives nothing back: it holds nothing.
	s.wantStatus(s.send(by(respond(403))), 403)
	want(t, s.run(reserve(0, "k")), duplicate)
	s.up.does(breakOff)
	s.wantStatus(s.send(asking("p", reserve(0, "broken"))), http.StatusBadGateway)
	s.up.does(answers(200, "run"))
	want(t, s.run(reserve(0, "broken")), duplicate)
})

var _ = clause("RESERVE-5", func(t *testing.T) {
	f := guardPolicy("p")
	s := open(t, f)
	release := s.up.held(answers(200, "run"))
	defer release()
	first := s.sending(asking("p", reserve(0, "k")))
	s.up.awaitOne(t)
	after := s.crashed(f)
	want(t, after.run(reserve(0, "k")), duplicate)
	release()
	s.wantStatus(<-first, 200)
})

var _ = clause("RESERVE-6", func(t *testing.T) {
	s := open(t, guardPolicy("p"))
	var calls, results []string
	for i := range abi.MaxReservations {
		calls, results = append(calls, reserve(0, fmt.Sprint("k", i))), append(results, reserved)
	}
	want(t, s.run(append(calls, reserve(0, "one more"))...), append(results, tooLarge)...)
})
