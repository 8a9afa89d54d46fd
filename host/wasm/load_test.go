package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/wasmtests/kit"
)

// moduleWith is an empty filter after a change.
func moduleWith(change func(m *kit.Module)) []byte {
	m := new(kit.Module)
	change(m)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
	m.Memory(1)
	return m.Bytes()
}

func TestLoadRefuses(t *testing.T) {
	whole := moduleWith(func(*kit.Module) {})
	tests := []struct {
		name   string
		source []byte
		is     error
		says   []string
	}{
		{"nothing", nil, ErrModule, []string{"first bytes"}},
		{"a text", []byte("(module)"), ErrModule, []string{"first bytes"}},
		{"a module that was cut off", whole[:len(whole)-3], ErrModule, []string{"malformed"}},
		{"a body that is no code", slices.Concat(whole[:len(whole)-2], []byte{0xff, 0x0b}), ErrModule, nil},
		{"an unknown function", moduleWith(func(m *kit.Module) {
			m.ImportAs(abi.Module, "frobnicate", kit.Result)
		}), ErrImport, []string{"porch_v1.frobnicate", "does not have (known: policy, reject"}},
		{"an unknown function of WASI", moduleWith(func(m *kit.Module) {
			m.ImportAs("wasi_snapshot_preview1", "sock_dance", kit.Result)
		}), ErrImport, []string{"wasi_snapshot_preview1.sock_dance"}},
		{"an unknown module", moduleWith(func(m *kit.Module) {
			m.ImportAs("env", "abort", kit.Result)
		}), ErrImport, []string{"env.abort"}},
		{"an imported memory", moduleWith(func(m *kit.Module) {
			m.ImportOther("env", "memory", kit.KindMemory, 0, 1)
		}), ErrImport, []string{"env.memory", "not a function"}},
		{"an imported global", moduleWith(func(m *kit.Module) {
			m.ImportOther(abi.Module, "counter", kit.KindGlobal, byte(kit.I32), 0)
		}), ErrImport, []string{"porch_v1.counter", "not a function"}},
		{"an import with another signature", moduleWith(func(m *kit.Module) {
			m.ImportAs(abi.Module, abi.FuncClock, kit.Signature{Params: []kit.Type{kit.I32}, Results: []kit.Type{kit.I32}})
		}), ErrImport, []string{"porch_v1.clock", "(i32) -> i32", "(i32) -> i64"}},
		{"WASI with another signature", moduleWith(func(m *kit.Module) {
			m.ImportAs("wasi_snapshot_preview1", "proc_exit", kit.Result)
		}), ErrImport, []string{"proc_exit", "() -> i32"}},
		{"no memory", func() []byte {
			m := new(kit.Module)
			m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
			m.PrivateMemory(1)
			return m.Bytes()
		}(), ErrExport, []string{`no memory named "memory"`}},
		{"neither export", func() []byte {
			m := new(kit.Module)
			m.Memory(1)
			return m.Bytes()
		}(), ErrExport, []string{"neither porch_request nor porch_response"}},
		{"an export with another signature", moduleWith(func(m *kit.Module) {
			m.Export(abi.ExportResponse, m.Function(kit.Signature{}, 0))
		}), ErrExport, []string{"porch_response", "() -> i32"}},
		{"an _initialize that takes something", moduleWith(func(m *kit.Module) {
			m.Export("_initialize", m.Function(kit.Signature{Params: []kit.Type{kit.I32}}, 0))
		}), ErrExport, []string{"_initialize"}},
		{"too much memory", func() []byte {
			m := new(kit.Module)
			m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
			m.Memory(17)
			return m.Bytes()
		}(), ErrMemory, []string{"1114112", "1048576"}},
		{"a table without bounds", moduleWith(func(m *kit.Module) { m.Table(maxTable + 1) }), ErrModule, []string{"table"}},
		{"a trap at the start", moduleWith(func(m *kit.Module) {
			m.Start(m.Function(kit.Signature{}, 0, kit.Unreachable()))
		}), ErrStart, []string{"trap", "unreachable"}},
		{"a trap in _initialize", moduleWith(func(m *kit.Module) {
			m.Export("_initialize", m.Function(kit.Signature{}, 0, kit.Unreachable()))
		}), ErrStart, []string{"trap"}},
		{"a loop in porch_configure", moduleWith(func(m *kit.Module) {
			m.Export(abi.ExportConfigure, m.Function(kit.Result, 0, kit.Loop(kit.Const(1)), kit.Const(0)))
		}), ErrStart, []string{"fuel"}},
		{"a result of porch_configure", moduleWith(func(m *kit.Module) {
			m.Export(abi.ExportConfigure, m.Function(kit.Result, 0, kit.Const(3)))
		}), ErrStart, []string{"porch_configure returned 3"}},
	}
	e, _ := newTestEngine(t, func(c *EngineConfig) { c.StartLimit = 500 * time.Millisecond })
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := e.Load(context.Background(), specOf(test.source))
			if !errors.Is(err, test.is) || !errors.As(err, new(*LoadError)) {
				t.Fatalf("got %v, want %v", err, test.is)
			}
			for _, text := range append(test.says, `filter "subject"`, "./subject.wasm") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestStartIsAcceptedWhereItReturnsOrExitsWithZero(t *testing.T) {
	eachEngine(t, func(t *testing.T, e *Engine, _ *journal) {
		for _, code := range []int32{-1, 0, 1} {
			source := moduleWith(func(m *kit.Module) {
				exit := m.ImportAs("wasi_snapshot_preview1", "proc_exit", kit.Signature{Params: []kit.Type{kit.I32}})
				var body []kit.Code
				if code >= 0 {
					body = append(body, kit.Call(exit, kit.Const(code)))
				}
				m.Export("_start", m.Function(kit.Signature{}, 0, body...))
			})
			v, err := e.Load(context.Background(), specOf(source))
			if code == 1 {
				if !errors.Is(err, ErrStart) {
					t.Errorf("exit with 1: got %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("exit with %d: %v", code, err)
			}
			if err := v.Request(newExchange(), 0); err != nil {
				t.Errorf("after an exit with %d: %v", code, err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// configured is a filter whose porch_configure is code.
func configured(data string, code func(m *kit.Module) []kit.Code) []byte {
	m := new(kit.Module)
	body := code(m)
	m.Export(abi.ExportConfigure, m.Function(kit.Result, 1, append(body, kit.Const(0))...))
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
	m.Memory(1)
	m.Data(dataAt, data)
	return m.Bytes()
}

func TestRejectionsCarryPointerAndReason(t *testing.T) {
	e, _ := newTestEngine(t)
	_, err := e.Load(context.Background(), specOf(configured("/limit is negative\n", func(m *kit.Module) []kit.Code {
		reject := kit.Call(m.Import(abi.FuncReject), kit.Const(dataAt), kit.Const(6), kit.Const(dataAt+7), kit.Const(12))
		return []kit.Code{kit.Loop(
			reject, kit.Drop(),
			kit.Set(0, kit.Add(kit.Get(0), kit.Const(1))),
			kit.IsZero(kit.Equal(kit.Get(0), kit.Const(100))),
		)}
	})))
	var rejected *Rejected
	if !errors.As(err, &rejected) {
		t.Fatalf("got %v", err)
	}
	if want := (Reason{"/limit", "is negative "}); rejected.Reasons[0] != want || len(rejected.Reasons) != abi.MaxReasons {
		t.Errorf("got %d reasons, the first is %+v", len(rejected.Reasons), rejected.Reasons[0])
	}
	if !strings.Contains(err.Error(), "/limit: is negative  (and 63 more)") {
		t.Errorf("got %q", err)
	}
}

const limitJSON = `{"algorithm":"fixed-window","limit":10,"window_ms":1000}`

// declares is a filter that declares one limit with that spec.
func declares(name, spec string) []byte {
	return configured(name+spec, func(m *kit.Module) []kit.Code {
		return []kit.Code{kit.Call(m.Import(abi.FuncPolicy), kit.Const(int32(abi.KindLimit)),
			kit.Const(dataAt), kit.Const(int32(len(name))),
			kit.Const(int32(dataAt+len(name))), kit.Const(int32(len(spec)))), kit.Drop()}
	})
}

func TestPoliciesAreDeclaredOnce(t *testing.T) {
	e, _ := newTestEngine(t)
	var declared []string
	s := specOf(declares("per-client", limitJSON))
	s.Decider = &decider{limit: func(name string, spec pool.LimitSpec) (*pool.Policy, error) {
		declared = append(declared, fmt.Sprintf("%s %d/%v", name, spec.Limit, spec.Window))
		return new(pool.Policy), nil
	}}
	load(t, e, s)
	if want := []string{"per-client 10/1s"}; !slices.Equal(declared, want) {
		t.Errorf("got %q, want %q", declared, want)
	}
}

func TestRefusedPoliciesRefuseTheLoad(t *testing.T) {
	tests := []struct{ name, policy, spec, says string }{
		{"no JSON", "p", "{", "not understood"},
		{"an unknown member", "p", `{"algorithm":"fixed-window","limit":1,"window_ms":1,"burst":1}`, "burst"},
		{"more after the end", "p", limitJSON + "{}", "more after its end"},
		{"an unknown algorithm", "p", `{"algorithm":"leaky","limit":1,"window_ms":1}`, "leaky"},
		{"no limit", "p", `{"algorithm":"fixed-window","limit":0,"window_ms":1}`, "limit is 0"},
		{"no window", "p", `{"algorithm":"fixed-window","limit":1,"window_ms":0}`, "window_ms is 0"},
		{"an unknown durability", "p", `{"algorithm":"fixed-window","limit":1,"window_ms":1,"durability":"maybe"}`, "maybe"},
		{"a bad name", "a b", limitJSON, "a b"},
		{"a long name", strings.Repeat("a", 65), limitJSON, "longer than 64"},
		{"a refusal of the pool", "refused", limitJSON, "no room"},
	}
	e, _ := newTestEngine(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := specOf(declares(test.policy, test.spec))
			s.Decider = &decider{limit: func(name string, _ pool.LimitSpec) (*pool.Policy, error) {
				if name == "refused" {
					return nil, errors.New("no room")
				}
				return new(pool.Policy), nil
			}}
			_, err := e.Load(context.Background(), s)
			if !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestInstancesThatDifferAreRefused(t *testing.T) {
	e, _ := newTestEngine(t)
	_, err := e.Load(context.Background(), specOf(configured("abcdefgh"+limitJSON, func(m *kit.Module) []kit.Code {
		policy := m.Import(abi.FuncPolicy)
		random := m.ImportAs("wasi_snapshot_preview1", "random_get", kit.Signature{Params: []kit.Type{kit.I32, kit.I32}, Results: []kit.Type{kit.I32}})
		// The name is eight random bytes, each brought into the range of letters.
		code := []kit.Code{kit.Call(random, kit.Const(bufferAt), kit.Const(8)), kit.Drop()}
		for i := range int32(2) {
			at := kit.Const(bufferAt + 4*i)
			letters := slices.Concat(kit.Load(at), kit.Const(0x0f0f0f0f), kit.Code{0x71}, kit.Const(0x61616161), kit.Code{0x6a})
			code = append(code, kit.Store(at, letters))
		}
		return append(code, kit.Call(policy, kit.Const(int32(abi.KindLimit)), kit.Const(bufferAt), kit.Const(8),
			kit.Const(dataAt+8), kit.Const(int32(len(limitJSON)))), kit.Drop())
	})))
	if !errors.Is(err, ErrDiffers) {
		t.Errorf("got %v", err)
	}
}

// wazero bounds no table by itself: table.grow takes memory of the host.
func TestTablesAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, e *Engine, _ *journal) {
		v := load(t, e, specOf(filter("", func(m *kit.Module) []kit.Code {
			m.Table(1)
			return []kit.Code{
				kit.If(kit.Equal(kit.GrowTable(kit.Const(maxTable)), kit.Const(-1)), kit.Const(7), kit.Return()),
			}
		})))
		wantCause(t, v.Request(newExchange(), 0), CauseCode)
	})
}

func TestVersionNamesModuleAndConfiguration(t *testing.T) {
	a := identify([]byte("module"), []byte("{}"))
	if len(a) != 12 || a == identify([]byte("modul"), []byte("e{}")) || a == identify([]byte("module"), []byte("{ }")) {
		t.Errorf("got %s", a)
	}
	if a != identify([]byte("module"), []byte("{}")) {
		t.Error("the same twice differs")
	}
}
