package wasm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// recursive makes a function that calls itself without end.
func recursive(m *kit.Module) int {
	self := m.Function(kit.Signature{}, 0)
	// The index is only known now, and it is the same for the next function.
	return m.Function(kit.Signature{}, 0, kit.Call(self+1))
}

var misdeeds = []struct {
	name  string
	cause Cause
	code  func(m *kit.Module) []kit.Code
}{
	{"loops for ever", CauseFuel, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Loop(kit.Const(1))}
	}},
	{"grows its memory for ever", CauseFuel, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Loop(kit.Grow(kit.Const(1)), kit.Drop(), kit.Const(1))}
	}},
	{"traps for want of memory", CauseMemory, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Loop(kit.Equal(kit.Const(0), kit.Equal(kit.Grow(kit.Const(1)), kit.Const(-1)))), kit.Unreachable()}
	}},
	{"traps", CauseTrap, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Unreachable()}
	}},
	{"reads outside its memory", CauseTrap, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Load(kit.Const(1 << 30)), kit.Drop()}
	}},
	{"points outside its memory", CauseTrap, func(m *kit.Module) []kit.Code {
		log := m.Import(abi.FuncLog)
		return []kit.Code{kit.Call(log, kit.Const(1), kit.Const(1<<16-1), kit.Const(2)), kit.Drop()}
	}},
	{"points around the end of addresses", CauseTrap, func(m *kit.Module) []kit.Code {
		log := m.Import(abi.FuncLog)
		return []kit.Code{kit.Call(log, kit.Const(1), kit.Const(-1), kit.Const(2)), kit.Drop()}
	}},
	// Machine code that keeps nothing on its stack gets further than the interpreter, which runs out of stack.
	{"calls itself without end", CauseFuel, func(m *kit.Module) []kit.Code {
		return []kit.Code{kit.Call(recursive(m))}
	}},
	{"exits", CauseExit, func(m *kit.Module) []kit.Code {
		exit := m.ImportAs("wasi_snapshot_preview1", "proc_exit", kit.Signature{Params: []kit.Type{kit.I32}})
		return []kit.Code{kit.Call(exit, kit.Const(0))}
	}},
	{"returns a number", CauseCode, func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Const(7), kit.Return()}
	}},
}

func TestMisdeedsFailOneCall(t *testing.T) {
	eachEngine(t, func(t *testing.T, e *Engine, log *journal) {
		for _, m := range misdeeds {
			t.Run(m.name, func(t *testing.T) {
				s := specOf(whenAsked(m.code))
				s.Timeout = 200 * time.Millisecond
				v := load(t, e, s)
				if err := v.Request(newExchange(), 0); err != nil {
					t.Fatal(err)
				}
				err := v.Request(bad(), 0)
				if m.cause != CauseFuel || e.Compiles() {
					wantCause(t, err, m.cause)
				} else if err == nil {
					t.Error("it came to its end")
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than one line: %q", err)
				}
				if err := v.Request(newExchange(), 0); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
				if got := v.Stats(); got.InUse != 0 {
					t.Errorf("%d instances are still in use", got.InUse)
				}
			})
		}
		wantLog(t, log, "cause=trap")
	})
}

// A guest that fails leaves nothing at its place.
func TestFailureDropsWhatWasRecorded(t *testing.T) {
	e, _ := newTestEngine(t)
	v := load(t, e, specOf(filter("X-A", func(m *kit.Module) []kit.Code {
		set, respond := m.Import(abi.FuncSet), m.Import(abi.FuncRespond)
		return []kit.Code{
			kit.Call(set, kit.Const(int32(abi.FieldResponseHeader)), kit.Const(dataAt), kit.Const(3), kit.Const(dataAt), kit.Const(3)), kit.Drop(),
			kit.Call(set, kit.Const(int32(abi.FieldResponseBody)), kit.Const(0), kit.Const(0), kit.Const(dataAt), kit.Const(3)), kit.Drop(),
			kit.Call(respond, kit.Const(200)), kit.Drop(),
			kit.Unreachable(),
		}
	})))
	x := newExchange()
	wantCause(t, v.Request(x, 0), CauseTrap)
	if p := x.Places[0]; p.Status != 0 || p.Body != nil || len(p.Ops) != 0 {
		t.Errorf("something is left: %+v", p)
	}
}

func TestBrokenGuestsAreNeverUsedAgain(t *testing.T) {
	e, _ := newTestEngine(t)
	// The guest counts its calls, and traps in the second one.
	s := specOf(filter("", func(m *kit.Module) []kit.Code {
		calls := m.Global(0)
		return []kit.Code{
			kit.SetGlobal(calls, kit.Add(kit.GetGlobal(calls), kit.Const(1))),
			kit.If(kit.Equal(kit.GetGlobal(calls), kit.Const(2)), kit.Unreachable()),
			kit.If(kit.Equal(kit.GetGlobal(calls), kit.Const(3)), kit.Const(3), kit.Return()),
		}
	}))
	s.Instances = 1
	v := load(t, e, s)
	for i, want := range []Cause{CauseNone, CauseTrap, CauseNone, CauseTrap} {
		if got := causeOf(t, v.Request(newExchange(), 0)); got != want {
			t.Errorf("call %d: %v, want %v", i, got, want)
		}
	}
}

func TestTrapTextStaysInTheLog(t *testing.T) {
	e, log := newTestEngine(t)
	v := load(t, e, specOf(filter("", func(*kit.Module) []kit.Code { return []kit.Code{kit.Unreachable()} })))
	err := v.Request(newExchange(), 0)
	if !errors.As(err, new(*Failure)) || strings.Contains(err.Error(), "stack trace") {
		t.Errorf("got %v", err)
	}
	wantLog(t, log, "unreachable")
	wantLog(t, log, "filter=subject")
	for range 10 * linesPerSecond {
		_ = v.Request(newExchange(), 0)
	}
	if n := strings.Count(log.String(), "filter died"); n > 3*linesPerSecond {
		t.Errorf("%d lines about deaths in the log", n)
	}
}
