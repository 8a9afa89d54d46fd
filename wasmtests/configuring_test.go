package wasmtests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

var _ = clause("CONF-1", func(t *testing.T) {
	s := open(t, probing("p", get(abi.FieldConfiguration, "")))
	wantIn(t, s.configured()[0], `:{"probe":`)
	none := probing("p")
	none.Config = ""
	want(t, open(t, none).run(get(abi.FieldConfiguration, "")), "2:{}")
	counted := open(t, small("f", func(m *kit.Module) {
		calls := m.Global(0)
		m.Export("_initialize", m.Function(kit.Signature{}, 0, kit.If(kit.GetGlobal(calls), kit.Unreachable())))
		m.Export(abi.ExportConfigure, m.Function(kit.Result, 0,
			kit.SetGlobal(calls, kit.Add(kit.GetGlobal(calls), kit.Const(1))), kit.Const(0)))
		requests(m, "", kit.If(kit.IsZero(kit.Equal(kit.GetGlobal(calls), kit.Const(1))), kit.Unreachable()))
	}))
	for range 5 {
		counted.wantStatus(counted.send(request{}), 200)
	}
})

var _ = clause("CONF-2", func(t *testing.T) {
	refusal(t, probing("p", "return 1"))
	refusal(t, probing("p", "return -1"))
})

var _ = clause("CONF-3", func(t *testing.T) {
	wantIn(t, refusal(t, probing("p", "reject /limit is%20negative", "reject /window is%20missing")),
		"limit", "is negative", "window", "is missing")
	refusal(t, probing("p", "reject - nothing"))
})

var _ = clause("CONF-4", func(t *testing.T) {
	long := strings.Repeat("x", abi.MaxReason)
	text := refusal(t, probing("p", "reject /a "+long+"y"))
	if strings.Contains(text, long+"y") || !strings.Contains(text, long) {
		t.Errorf("%d bytes of refusal", len(text))
	}
	var rejects []string
	for i := range 70 {
		rejects = append(rejects, fmt.Sprintf("reject /%d reason-%d-", i, i))
	}
	s, err := tryOpen(t, kit.Setup{Filters: []kit.Filter{probing("p", rejects...)}, Log: newJournal()})
	if err == nil {
		s.close()
		t.Fatal("not refused")
	}
	wantIn(t, err.Error(), "reason-0-", "reason-63-")
	if strings.Contains(err.Error(), "reason-64-") {
		t.Error("the 65th reason is reported")
	}
	// A guest that checks each result is refused for its reasons all the same, and not for a trap.
	wantIn(t, refusal(t, small("f", func(m *kit.Module) {
		reject := m.Import(abi.FuncReject)
		m.Export(abi.ExportConfigure, m.Function(kit.Result, 1,
			kit.Loop(
				kit.If(kit.Call(reject, kit.Const(dataAt), kit.Const(1), kit.Const(dataAt+1), kit.Const(4)), kit.Unreachable()),
				kit.Set(0, kit.Add(kit.Get(0), kit.Const(1))),
				kit.IsZero(kit.Equal(kit.Get(0), kit.Const(100)))),
			kit.Const(0)))
		m.Data(dataAt, "/fate")
		plain(m)
	})), "fate")
})

var _ = clause("CONF-5", func(t *testing.T) {
	s := open(t, probing("p"))
	before := s.run(get(abi.FieldVersion, ""))
	bad := probing("p", "reject /a no")
	if err := s.server.Reload([]kit.Filter{bad}); err == nil {
		t.Error("not refused")
	}
	want(t, s.run(get(abi.FieldVersion, "")), before...)
})

// differing declares a policy under a name of random letters.
func differing() kit.Filter {
	spec := fixed(10, hour)
	return small("f", func(m *kit.Module) {
		declare := m.Import(abi.FuncPolicy)
		random := m.ImportAs(wasi, "random_get", kit.Signature{Params: []kit.Type{kit.I32, kit.I32}, Results: []kit.Type{kit.I32}})
		code := []kit.Code{kit.Call(random, kit.Const(resultAt), kit.Const(8)), kit.Drop()}
		for i := range int32(2) {
			at := kit.Const(resultAt + 4*i)
			letters := slices.Concat(kit.Load(at), kit.Const(0x0f0f0f0f), kit.Code{0x71}, kit.Const(0x61616161), kit.Code{0x6a})
			code = append(code, kit.Store(at, letters))
		}
		code = append(code, kit.Call(declare, kit.Const(int32(abi.KindLimit)),
			kit.Const(resultAt), kit.Const(8), kit.Const(dataAt), kit.Const(int32(len(spec)))), kit.Drop(), kit.Const(0))
		m.Export(abi.ExportConfigure, m.Function(kit.Result, 0, code...))
		requests(m, spec)
	})
}

var _ = clause("CONF-6", func(t *testing.T) {
	// A host may refuse the load, or serve with the first instance alone.
	s, err := tryOpen(t, kit.Setup{Filters: []kit.Filter{differing()}})
	if err != nil {
		return
	}
	for range 20 {
		if a := s.send(request{}); a.status != 200 && a.status != 503 {
			t.Errorf("status %d", a.status)
		}
	}
})

var _ = clause("POLICY-1", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "a", fixed(1, hour)), policy(abi.KindOnce, "b", once()), policy(abi.KindLimit, "c", fixed(1, hour))))
	want(t, s.configured(), "0", "1", "2")
	// Two instances at once know the same handles.
	var all []<-chan answer
	for i := range 16 {
		all = append(all, s.sending(asking("p", count(charge(2, fmt.Sprint(i), 1, 0)), count(charge(1, "k", 1, 0)))))
	}
	for _, a := range all {
		got := s.results(<-a, "p")
		wantIn(t, got[0], "0:true")
		want(t, got[1:], invalid)
	}
})

// declared is what a policy call gives while it is configured; the host logs the probe's results.
func declared(t *testing.T, commands ...string) []string {
	t.Helper()
	log := newJournal()
	s, err := tryOpen(t, kit.Setup{Filters: []kit.Filter{probing("p", commands...)}, Log: log})
	if err == nil {
		s.close()
	}
	line := log.line(t, "configured ")
	_, text, _ := strings.Cut(line, "configured ")
	text, _, _ = strings.Cut(text, `"`)
	return unescaped(t, strings.TrimSpace(text))
}

var _ = clause("POLICY-2", func(t *testing.T) {
	for i, spec := range []string{
		`{"algorithm":"fixed-window","limit":1,"window_ms":1}`,
		`{"algorithm":"fixed-window","limit":9007199254740992,"window_ms":86400000,"durability":"sync"}`,
		`{"algorithm":"fixed-window","limit":5,"window_ms":1000,"durability":"async"}`,
		`{"algorithm":"fixed-window","limit":5,"window_ms":1000,"durability":"none","max_keys":1}`,
	} {
		want(t, declared(t, policy(abi.KindLimit, fmt.Sprintf("p%d", i), spec)), "0")
	}
})

var _ = clause("POLICY-3", func(t *testing.T) {
	for _, spec := range []string{
		`{"ttl_ms":1,"max_wait_ms":1,"max_waiters":1,"max_response":0}`,
		`{"ttl_ms":86400000,"max_wait_ms":30000,"max_waiters":1024,"max_response":1048576,"headers":["X-A","X-B"],"max_keys":10}`,
	} {
		want(t, declared(t, policy(abi.KindOnce, "o", spec)), "0")
	}
})

var _ = clause("POLICY-4", func(t *testing.T) {
	good := fixed(1, 1)
	for name, call := range map[string]string{
		"kind 0":             policy(0, "p", good),
		"kind 4":             policy(4, "p", good),
		"a guard of a limit": policy(abi.KindGuard, "p", good),
		"no JSON":            policy(abi.KindLimit, "p", "limit"),
		"an empty spec":      policy(abi.KindLimit, "p", ""),
		"two values":         policy(abi.KindLimit, "p", good+good),
		"an unknown member":  policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":1,"window_ms":1,"burst":1}`),
		"another algorithm":  policy(abi.KindLimit, "p", `{"algorithm":"none","limit":1,"window_ms":1}`),
		"limit 0":            policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":0,"window_ms":1}`),
		"limit above 2^53":   policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":9007199254740993,"window_ms":1}`),
		"window 0":           policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":1,"window_ms":0}`),
		"another durability": policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":1,"window_ms":1,"durability":"most"}`),
		"max_keys below 1":   policy(abi.KindLimit, "p", `{"algorithm":"fixed-window","limit":1,"window_ms":1,"max_keys":-1}`),
		"once of a limit":    policy(abi.KindOnce, "p", good),
		"ttl 0":              policy(abi.KindOnce, "p", `{"ttl_ms":0,"max_wait_ms":1,"max_waiters":1,"max_response":0}`),
		"no waiters":         policy(abi.KindOnce, "p", `{"ttl_ms":1,"max_wait_ms":1,"max_waiters":0,"max_response":0}`),
		"response below 0":   policy(abi.KindOnce, "p", `{"ttl_ms":1,"max_wait_ms":1,"max_waiters":1,"max_response":-1}`),
		"a header no token":  policy(abi.KindOnce, "p", `{"ttl_ms":1,"max_wait_ms":1,"max_waiters":1,"max_response":0,"headers":["a b"]}`),
	} {
		if got := declared(t, call); !slices.Equal(got, []string{invalid}) {
			t.Errorf("%s: got %q", name, got)
		}
	}
})

var _ = clause("POLICY-5", func(t *testing.T) {
	spec := fixed(1, 1)
	want(t, declared(t, policy(abi.KindLimit, "", spec)), invalid)
	want(t, declared(t, policy(abi.KindLimit, "a b", spec)), invalid)
	want(t, declared(t, policy(abi.KindLimit, "a/b", spec)), invalid)
	want(t, declared(t, policy(abi.KindLimit, "ä", spec)), invalid)
	want(t, declared(t, policy(abi.KindLimit, "@64", spec), policy(abi.KindLimit, "@65", spec)), "0", tooLarge)
	want(t, declared(t, policy(abi.KindLimit, "Az09._-", spec), policy(abi.KindLimit, "Az09._-", spec), policy(abi.KindOnce, "Az09._-", once())), "0", invalid, invalid)
})

var _ = clause("POLICY-6", func(t *testing.T) {
	var all []string
	for i := range 65 {
		all = append(all, policy(abi.KindLimit, fmt.Sprintf("p%d", i), fixed(1, 1)))
	}
	got := declared(t, all...)
	want(t, got[63:], "63", tooLarge)
	want(t, declared(t, policy(abi.KindLimit, "p", "@65537")), tooLarge)
	want(t, declared(t, policy(abi.KindLimit, "p", "@65536")), invalid)
})

var _ = clause("POLICY-7", func(t *testing.T) {
	wantIn(t, refusal(t, probing("f", policy(abi.KindLimit, "per-tenant", `{"algorithm":"fixed-window","limit":-5,"window_ms":1}`))), "per-tenant", "-5")
})

var _ = clause("POLICY-8", func(t *testing.T) {
	limit := policy(abi.KindLimit, "l", fixed(10, hour))
	s := open(t, probing("p", limit), probing("q", limit))
	s.run(count(charge(0, "k", 4, 0)))
	q := s.results(s.send(asking("q", count(charge(0, "k", 1, 0)))), "q")
	if v := verdicts(t, q[0]); v[0].Used != 1 {
		t.Errorf("another filter: %+v", v)
	}
	other := policy(abi.KindLimit, "m", fixed(10, hour))
	if err := s.server.Reload([]kit.Filter{probing("p", other, limit), probing("q", limit)}); err != nil {
		t.Fatal(err)
	}
	v := s.verdicts(count(charge(1, "k", 1, 0), charge(0, "k", 1, 0)))
	if v[0].Used != 5 || v[1].Used != 1 {
		t.Errorf("the new version: %+v", v)
	}
})
