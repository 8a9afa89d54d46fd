package wasmtests

import (
	"fmt"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

const outside = "4294967280"

var _ = clause("MEM-1", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "l", fixed(10, hour)), policy(abi.KindOnce, "o", once())))
	for _, call := range []string{
		"raw get 7 " + outside + " 8 0 0",
		"raw get 1 0 0 " + outside + " 100",
		"raw list 7 0 0 " + outside + " 100",
		"raw set 7 " + outside + " 8 0 0",
		"raw set 19 0 0 " + outside + " 100",
		"raw add 7 " + outside + " 8 0 0",
		"raw remove 7 " + outside + " 100",
		"raw count " + outside + " 1 0",
		"raw count 0 1 " + outside,
		"raw begin 1 " + outside + " 100 0",
		"raw begin 1 4096 1 " + outside,
		"raw reserve 2 " + outside + " 100",
		"raw digest 1 " + outside,
		"raw log 1 " + outside + " 100",
		"raw log 1 1024 4294967295",
	} {
		a := s.send(asking("p", call))
		if a.status != 503 {
			t.Errorf("%s: status %d, want 503", call, a.status)
		}
	}
	s.up.wantCount(t, 0)
	if got := s.verdicts(count(charge(0, "k", 1, 0))); got[0].Used != 1 {
		t.Errorf("something was counted: %+v", got)
	}
	for _, call := range []string{
		"raw policy 1 " + outside + " 100 0 0", "raw policy 1 0 0 " + outside + " 100",
		"raw reject " + outside + " 100 0 0", "raw need 1 " + outside + " 100 0",
	} {
		refusal(t, probing("p", call))
	}
})

var _ = clause("MEM-2", func(t *testing.T) {
	want(t, open(t, probing("p")).run("raw get 1 "+outside+" 0 "+outside+" 0", "raw log 1 "+outside+" 0"), "3", done)
})

var _ = clause("MEM-3", func(t *testing.T) {
	s := open(t, probing("p"))
	got := s.results(s.send(asking("p",
		getInto(abi.FieldRequestHeader, "X-A", 0), getInto(abi.FieldRequestHeader, "X-A", 4),
		getInto(abi.FieldRequestHeader, "X-A", 5), getInto(abi.FieldRequestHeader, "X-A", 6),
		"list 7 X-A 8", "list 7 X-A 9",
	).with(func(r *request) { r.header = append(r.header, "X-A", "hello") })), "p")
	want(t, got, "5", "5", "5:hello", "5:hello", "9", "9:\x05\x00\x00\x00hello")
})

var _ = clause("MEM-4", func(t *testing.T) {
	s := open(t, small("f", func(m *kit.Module) {
		set := m.Import(abi.FuncSet)
		header := func(name, value int32) kit.Code {
			return append(kit.Call(set, kit.Const(int32(abi.FieldResponseHeader)), kit.Const(name), kit.Const(3), kit.Const(value), kit.Const(4)), kit.Drop()...)
		}
		requests(m, "X-AX-Bxxxxone ",
			header(dataAt, dataAt+10),
			kit.Store(kit.Const(dataAt+10), kit.Const(0x206f7774)), // "two "
			header(dataAt+3, dataAt+10),
			kit.Store(kit.Const(dataAt), kit.Const(0)))
	}))
	a := s.send(request{})
	want(t, []string{a.header.Get("X-A"), a.header.Get("X-B")}, "one", "two")
})

var _ = clause("MEM-5", func(t *testing.T) {
	s := open(t, small("f", func(m *kit.Module) {
		for _, name := range []string{"malloc", "free", "realloc", "cabi_realloc", "porch_alloc"} {
			m.Export(name, m.Function(kit.Signature{Params: []kit.Type{kit.I32}, Results: []kit.Type{kit.I32}}, 0, kit.Unreachable()))
		}
		get := m.Import(abi.FuncGet)
		requests(m, "", kit.Call(get, kit.Const(int32(abi.FieldMethod)), kit.Const(0), kit.Const(0), kit.Const(resultAt), kit.Const(8)), kit.Drop())
	}))
	s.wantStatus(s.send(request{}), 200)
	// The probe reports what is touched beside its buffer.
	p := open(t, probing("p"))
	want(t, p.run(getInto(abi.FieldMethod, "", 3), getInto(abi.FieldMethod, "", 2)), "3:GET", "3")
})

var _ = clause("MEM-6", func(t *testing.T) {
	charge := make([]byte, abi.ChargeSize)
	abi.Charge{Policy: 0, KeyAddr: dataAt + 1, KeyLen: 3, Cost: 4}.Put(charge)
	spec := fixed(10, hour)
	s := open(t, small("f", func(m *kit.Module) {
		declare, count, set, respond := m.Import(abi.FuncPolicy), m.Import(abi.FuncCount), m.Import(abi.FuncSet), m.Import(abi.FuncRespond)
		m.Data(2049, string(charge))
		m.Data(4096, spec)
		m.Export(abi.ExportConfigure, m.Function(kit.Result, 0,
			kit.Call(declare, kit.Const(int32(abi.KindLimit)), kit.Const(dataAt+1), kit.Const(3), kit.Const(4096), kit.Const(int32(len(spec))))))
		requests(m, "-key",
			kit.Call(count, kit.Const(2049), kit.Const(1), kit.Const(resultAt+1)), kit.Drop(),
			show(set, respond, abi.VerdictSize+1))
	}))
	a := s.send(request{})
	if len(a.body) != abi.VerdictSize+1 {
		t.Fatalf("%d bytes: %s", len(a.body), a.body)
	}
	v := abi.GetVerdict([]byte(a.body[1:]))
	if !v.Allowed || v.Used != 4 || v.Limit != 10 || v.Remaining != 6 || v.RetryAfter != 0 {
		t.Errorf("got %+v", v)
	}
	if a.body[1] != 1 || a.body[1+8] != 4 {
		t.Errorf("not little endian: % x", a.body)
	}
})

const hour = 3600_000 // milliseconds

// fixed is the spec of a limit.
func fixed(limit, windowMS int64) string {
	return fmt.Sprintf(`{"algorithm":"fixed-window","limit":%d,"window_ms":%d,"durability":"none"}`, limit, windowMS)
}

// once is the spec of a policy for begin.
func once() string { return onceFor(hour, hour, 1<<20) }

func onceFor(ttlMS, waitMS, response int64) string {
	return fmt.Sprintf(`{"ttl_ms":%d,"max_wait_ms":%d,"max_waiters":64,"max_response":%d}`, ttlMS, waitMS, response)
}
