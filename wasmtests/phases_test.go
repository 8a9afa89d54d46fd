package wasmtests

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

var _ = clause("PHASE-1", func(t *testing.T) {
	names := slices.Sorted(maps.Keys(kit.Signatures))
	for _, export := range []string{"_initialize", "_start"} {
		s := open(t, small("f", func(m *kit.Module) {
			set, respond := m.Import(abi.FuncSet), m.Import(abi.FuncRespond)
			var code []kit.Code
			for i, name := range names {
				code = append(code, kit.Store(kit.Const(resultAt+4*int32(i)), called(m, name)))
			}
			m.Export(export, m.Function(kit.Signature{}, 0, code...))
			requests(m, "", show(set, respond, 4*int32(len(names))))
		}))
		for i, got := range numbers(s.send(request{}).body) {
			switch name := names[i]; name {
			case abi.FuncLog:
				if got != 0 {
					t.Errorf("log gives %d in %s", got, export)
				}
			case abi.FuncClock:
				if got == int32(abi.WrongPhase) {
					t.Errorf("clock is WRONG_PHASE in %s", export)
				}
			default:
				if got != int32(abi.WrongPhase) {
					t.Errorf("%s gives %d in %s", name, got, export)
				}
			}
		}
	}
})

var _ = clause("PHASE-2", func(t *testing.T) {
	s := open(t, probing("p",
		get(abi.FieldFilter, ""), "clock 0", "log 1 hello",
		get(abi.FieldMethod, ""), get(abi.FieldRequestHeader, "A"), get(abi.FieldRoute, ""), list(abi.FieldRequestHeader, ""),
		set(abi.FieldResponseHeader, "A", "b"), set(abi.FieldProperty, "a", "b"), add(abi.FieldRequestHeader, "A", "b"),
		remove(abi.FieldRequestHeader, "A"), respond(200), "raw count 1024 1 2048", "raw begin 0 1024 1 2048", "digest 1",
		get(abi.FieldVersion, ""), get(abi.FieldConfiguration, ""), "verify 0 a 10", get(abi.FieldBodyHash, "")))
	got := s.configured()
	want(t, got[17:], wrongPhase, wrongPhase)
	want(t, got[:1], "1:p")
	want(t, got[2:3], done)
	for i, r := range got[3:14] {
		if r != wrongPhase {
			t.Errorf("call %d gives %s", i+3, r)
		}
	}
	wantIn(t, got[14], wrongPhase)
	wantIn(t, got[15], "12:")
	wantIn(t, got[16], `:{"probe":`)
})

var _ = clause("PHASE-3", func(t *testing.T) {
	s := open(t, probing("p"))
	calls := []string{policy(abi.KindLimit, "l", fixed(1, 1)), "reject /a b", "need 1 - 10", "verifier - {}"}
	want(t, s.run(calls...), wrongPhase, wrongPhase, wrongPhase, wrongPhase)
	want(t, s.runBack(calls...), wrongPhase, wrongPhase, wrongPhase, wrongPhase)
})

var _ = clause("PHASE-4", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "l", fixed(10, hour)), policy(abi.KindOnce, "o", once())))
	got := s.runBack(respond(200), count(charge(0, "k", 1, 0)), begin(1, "k", "d"), "digest 1", "verify 0 a 10", reserve(0, "k"))
	want(t, got[4:], wrongPhase, wrongPhase)
	want(t, got[:3], wrongPhase, wrongPhase, wrongPhase)
	wantIn(t, got[3], wrongPhase)
	want(t, s.run(begin(1, "k", "d")), done)
})

var _ = clause("PHASE-5", func(t *testing.T) {
	f := probing("p", policy(abi.KindLimit, "l", fixed(10, hour)))
	f.Instances = 1
	s := open(t, f)
	a := s.send(asking("p", respond(202), respond(203), get(abi.FieldMethod, ""), list(abi.FieldRequestHeader, ""),
		set(abi.FieldResponseHeader, "A", "b"), add(abi.FieldResponseHeader, "A", "b"), remove(abi.FieldResponseHeader, "A"),
		count(charge(0, "k", 1, 0)), "clock 0", "log 1 still"))
	s.wantStatus(a, 202)
	if a.header.Get("A") != "" {
		t.Errorf("written after the answer: %v", a.header)
	}
	s.log.line(t, "still")
	_, text, _ := strings.Cut(s.run("recall")[0], ":")
	got := unescaped(t, text)
	want(t, got, done, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, wrongPhase, done)
})

var _ = clause("PHASE-6", func(t *testing.T) {
	s := open(t, probing("p"))
	s.wantRefused(s.send(asking("p", "return 7")))
	s.up.wantCount(t, 0)
	s.wantRefused(s.send(request{}.inResponse("p", "return -1")))
	s.up.wantCount(t, 1)
})

var _ = clause("PHASE-7", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "l", fixed(10, hour))))
	a := s.send(asking("p",
		set(abi.FieldRequestHeader, "X-A", "bad\nvalue"), set(abi.FieldPath, "", "no slash"), set(abi.FieldProperty, "a/b", "v"),
		respond(99), count(charge(0, "k", 0, 0)), count(charge(0, "k", 1, 0), charge(0, "", 1, 0)), list(abi.FieldProperty, ""),
	).with(func(r *request) { r.header = append(r.header, "X-A", "first") }))
	want(t, s.results(a, "p"), invalid, invalid, invalid, invalid, invalid, invalid, done)
	r, _ := s.up.last()
	want(t, []string{r.Header.Get("X-A"), r.URL.Path}, "first", "/")
	if got := s.verdicts(count(charge(0, "k", 1, 0))); got[0].Used != 1 {
		t.Errorf("something was counted: %+v", got)
	}
})

var _ = clause("PHASE-8", func(t *testing.T) {
	s := open(t, small("f", func(m *kit.Module) {
		set := m.Import(abi.FuncSet)
		m.Memory(1)
		m.Data(dataAt, "X-Back")
		m.Export(abi.ExportResponse, m.Function(kit.Result, 0, kit.Call(set,
			kit.Const(int32(abi.FieldResponseHeader)), kit.Const(dataAt), kit.Const(6), kit.Const(dataAt), kit.Const(6))))
	}))
	a := s.send(request{})
	s.wantStatus(a, 200)
	want(t, []string{a.header.Get("X-Back"), a.body}, "X-Back", "up")
})
