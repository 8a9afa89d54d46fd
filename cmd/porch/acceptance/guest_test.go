package acceptance

import (
	"encoding/binary"

	"github.com/porchedge/porch/abi"
)

// guest is a filter in a few instructions: porch_request is the code, over one page of memory that begins
// with data.
type guest struct {
	imports []string // functions of porch_v1 that take five i32 and return one
	request []byte   // code of porch_request; nil leaves the export out
	data    string
	more    [][]byte // code of further functions, which take nothing and return a number
}

// Instructions that the guests here are made of.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBranch      = 0x0c
	opBranchTable = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opDrop        = 0x1a
	opLoad        = 0x28
	opMemoryGrow  = 0x40
	opConst       = 0x41
	opLess        = 0x48
	opMore        = 0xfc // before one of the next
	opMemoryCopy  = 10
	opMemoryFill  = 11
	noResult      = 0x40
)

// module is the guest's binary.
func (g guest) module() []byte {
	const i32, function, memory = 0x7f, 0x00, 0x02
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items ...[]byte) {
		content := binary.AppendUvarint(nil, uint64(len(items)))
		for _, item := range items {
			content = append(content, item...)
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
	}
	name := func(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	section(1, []byte{0x60, 0, 1, i32}, []byte{0x60, 5, i32, i32, i32, i32, i32, 1, i32})
	var imports [][]byte
	for _, f := range g.imports {
		imports = append(imports, join(name(abi.Module), name(f), []byte{function, 1}))
	}
	section(2, imports...)
	exports := [][]byte{join(name(abi.ExportMemory), []byte{memory, 0})}
	if g.request != nil {
		functions := [][]byte{{0}}
		for range g.more {
			functions = append(functions, []byte{0})
		}
		section(3, functions...)
		exports = append(exports, join(name(abi.ExportRequest), []byte{function, byte(len(g.imports))}))
	}
	section(5, []byte{0, 1})
	section(7, exports...)
	if g.request != nil {
		var bodies [][]byte
		for _, code := range append([][]byte{g.request}, g.more...) {
			body := join([]byte{0}, code, []byte{opEnd})
			bodies = append(bodies, append(binary.AppendUvarint(nil, uint64(len(body))), body...))
		}
		section(10, bodies...)
	}
	section(11, join([]byte{0}, constant(0), []byte{opEnd}, name(g.data)))
	return out
}

// constant pushes a number.
func constant(n int32) []byte {
	out := []byte{opConst}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// call calls an import with five numbers.
func call(import_ byte, args ...int32) []byte {
	var out []byte
	for _, a := range args {
		out = append(out, constant(a)...)
	}
	return append(out, opCall, import_)
}

// hostile is a filter that lets requests pass, and does what code says on those with the field X-Hostile.
func hostile(code ...byte) []byte { return hostileWith(code, nil) }

// hostileWith is hostile with further functions, the first of which is function 2.
func hostileWith(code []byte, more [][]byte) []byte {
	const field = "X-Hostile"
	request := call(0, int32(abi.FieldRequestHeader), 0, int32(len(field)), 0, 0)
	request = append(append(request, constant(0)...), opLess, opIf, noResult)
	request = append(append(request, constant(0)...), opReturn, opEnd)
	request = append(request, code...)
	request = append(request, constant(0)...)
	return guest{[]string{abi.FuncGet}, request, field, more}.module()
}

// doubling is functions that each call the next one twice: no loop, and four billion calls.
func doubling() (more [][]byte) {
	for i := range byte(32) {
		more = append(more, append([]byte{opCall, i + 3, opDrop, opCall, i + 3, opDrop}, constant(0)...))
	}
	return append(more, constant(0))
}

// stamp is a filter that sets the response field X-Stamp.
func stamp(value string) []byte {
	const field = "X-Stamp"
	request := call(0, int32(abi.FieldResponseHeader), 0, int32(len(field)), int32(len(field)), int32(len(value)))
	return guest{[]string{abi.FuncSet}, request, field + value, nil}.module()
}

func unknownImport() []byte {
	return guest{[]string{"teleport"}, constant(0), "", nil}.module()
}

func noExports() []byte {
	return guest{}.module()
}
