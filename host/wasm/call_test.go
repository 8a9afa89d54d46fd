package wasm

import (
	"runtime"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// engineAllocations are what wazero allocates for a call that can be stopped: a channel, a goroutine that
// waits for the end of the call, and the function that ends it.
const engineAllocations = 3

func TestCallsAllocateNothingOfOurs(t *testing.T) {
	reading := filter("x-name", func(m *kit.Module) []kit.Code {
		get := m.Import(abi.FuncGet)
		read := func(field abi.Field, nameLen int32) []kit.Code {
			return []kit.Code{kit.Call(get, kit.Const(int32(field)), kit.Const(dataAt), kit.Const(nameLen), kit.Const(bufferAt), kit.Const(256)), kit.Drop()}
		}
		var code []kit.Code
		code = append(code, read(abi.FieldRequestHeader, 6)...)
		code = append(code, read(abi.FieldMethod, 0)...)
		code = append(code, read(abi.FieldPeer, 0)...)
		return append(code, read(abi.FieldPath, 0)...)
	})
	tests := []struct {
		name   string
		source []byte
	}{
		{"an empty filter", filter("", empty)},
		{"a filter that reads", reading},
		{"a filter that counts", counting()},
	}
	e, _ := newTestEngine(t)
	if !e.Compiles() {
		t.Skip("the interpreter allocates by itself")
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := load(t, e, specOf(test.source))
			x := newExchange("X-Name", "value")
			got := testing.AllocsPerRun(200, func() {
				if err := v.Request(x, 0); err != nil {
					t.Fatal(err)
				}
				runtime.Gosched() // lets wazero's goroutine end, so that the next call can have its memory
			})
			if got > engineAllocations {
				t.Errorf("%v allocations per call; wazero makes %d", got, engineAllocations)
			}
		})
	}
}

func BenchmarkCall(b *testing.B) {
	e, _ := newTestEngine(b)
	for _, bench := range []struct {
		name   string
		source []byte
	}{
		{"empty", filter("", empty)},
		{"counting", counting()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			v := load(b, e, specOf(bench.source))
			x := newExchange("X-Name", "value")
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Request(x, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
