package fuel_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/porchedge/porch/host/wasm/fuel"
)

// module is a module of one function type () → (), whose first function is exported as "run", with a memory of
// one page and a table that holds every function.
func module(bodies ...[]byte) []byte {
	section := func(id byte, content ...byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	n := byte(len(bodies))
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, 1, 0x60, 0, 0)...)
	functions, elements := []byte{n}, []byte{1, 0, 0x41, 0, 0x0b, n}
	code := []byte{n}
	for i, body := range bodies {
		functions = append(functions, 0)
		elements = append(elements, byte(i))
		code = binary.AppendUvarint(code, uint64(len(body)+2))
		code = append(append(append(code, 0), body...), 0x0b)
	}
	out = append(out, section(3, functions...)...)
	out = append(out, section(4, 1, 0x70, 0, n)...)
	out = append(out, section(5, 1, 0, 1)...)
	out = append(out, section(7, 1, 3, 'r', 'u', 'n', 0, 0)...)
	out = append(out, section(9, elements...)...)
	return append(out, section(10, code...)...)
}

// tree is functions that each call the next one twice, 32 deep: no loop, and four billion calls.
func tree() (bodies [][]byte) {
	for i := range byte(32) {
		bodies = append(bodies, []byte{0x10, i + 1, 0x10, i + 1})
	}
	return append(bodies, []byte{})
}

func TestRunawaysEnd(t *testing.T) {
	page := []byte{0x41, 0x80, 0x80, 0x04} // i32.const 65536
	fill := append(append([]byte{0x03, 0x40, 0x41, 0, 0x41, 7}, page...), 0xfc, 11, 0, 0x0c, 0, 0x0b)
	copied := append(append([]byte{0x03, 0x40, 0x41, 0, 0x41, 0}, page...), 0xfc, 10, 0, 0, 0x0c, 0, 0x0b)
	for name, bodies := range map[string][][]byte{
		"br":               {{0x03, 0x40, 0x0c, 0, 0x0b}},
		"br_if":            {{0x03, 0x40, 0x41, 1, 0x0d, 0, 0x0b}},
		"br_table":         {{0x03, 0x40, 0x41, 0, 0x0e, 1, 0, 0, 0x0b}},
		"inner block":      {{0x03, 0x40, 0x02, 0x40, 0x0c, 1, 0x0b, 0x0b}},
		"recursion":        {{0x10, 0}},
		"mutual recursion": {{0x10, 1}, {0x10, 0}},
		"indirect calls":   {{0x41, 1, 0x11, 0, 0}, {0x41, 0, 0x11, 0, 0}},
		"loop of calls":    {{0x03, 0x40, 0x10, 1, 0x0c, 0, 0x0b}, {}},
		"tree of calls":    tree(),
		"memory.fill":      {fill},
		"memory.copy":      {copied},
		"memory.grow by 0": {{0x03, 0x40, 0x41, 0, 0x40, 0, 0x1a, 0x0c, 0, 0x0b}},
	} {
		t.Run(name, func(t *testing.T) {
			const budget = 1_000_000
			var left [2]int64
			for i := range left {
				left[i] = run(t, module(bodies...), budget)
			}
			if left[0] >= 0 && name != "recursion" && name != "mutual recursion" && name != "indirect calls" {
				t.Errorf("ended with %d units left, not for want of them", left[0])
			}
			if left[0] != left[1] {
				t.Errorf("%d units left, and %d the second time", left[0], left[1])
			}
		})
	}
}

// run calls the function, which must trap, and returns the units that are left.
func run(t *testing.T, original []byte, budget int64) int64 {
	t.Helper()
	metered, err := fuel.Meter(original, budget)
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntime(t.Context())
	defer r.Close(t.Context())
	m, err := r.Instantiate(t.Context(), metered)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("run").Call(t.Context()); err == nil {
		t.Error("it came to an end")
	}
	return int64(m.ExportedGlobal(fuel.Global).Get())
}

func TestReservedNameIsRefused(t *testing.T) {
	metered, err := fuel.Meter(module([]byte{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fuel.Meter(metered, 1)
	if e, ok := errors.AsType[*fuel.Error](err); !ok || e.Offset == 0 {
		t.Errorf("metering twice: %v", err)
	}
}

func TestCutModulesAreRefusedWithTheirOffset(t *testing.T) {
	whole := module(tree()...)
	for n := range whole {
		_, err := fuel.Meter(whole[:n], 1)
		if err == nil {
			continue // a module may end after any section
		}
		if e, ok := errors.AsType[*fuel.Error](err); !ok || e.Offset > n {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func FuzzMeter(f *testing.F) {
	f.Add(module(tree()...))
	f.Add(module([]byte{0x03, 0x40, 0x41, 0, 0x0e, 1, 0, 0, 0x0b}))
	f.Fuzz(func(t *testing.T, b []byte) {
		metered, err := fuel.Meter(b, 1)
		if err != nil {
			if _, ok := errors.AsType[*fuel.Error](err); !ok {
				t.Fatalf("%T is no error of a module", err)
			}
			return
		}
		r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		defer r.Close(t.Context())
		_, before := r.CompileModule(t.Context(), b)
		_, after := r.CompileModule(t.Context(), metered)
		if before == nil && after != nil {
			t.Fatalf("a valid module is invalid after metering: %v", after)
		}
	})
}
