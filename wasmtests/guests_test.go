package wasmtests

import (
	"encoding/binary"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// Addresses in the memory of the small guests.
const (
	dataAt   = 1024 // what a test put there
	resultAt = 8192 // what the guest shows
)

// small is a filter of a few instructions.
func small(name string, build func(m *kit.Module)) kit.Filter {
	m := new(kit.Module)
	build(m)
	return kit.Filter{Name: name, Module: m.Bytes(), Timeout: patience, Instances: 2}
}

// plain adds a memory and a porch_request that returns 0.
func plain(m *kit.Module) {
	m.Memory(1)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
}

// requests adds a memory with data at dataAt and code as porch_request, which then returns 0.
func requests(m *kit.Module, data string, code ...kit.Code) {
	m.Memory(1)
	m.Data(dataAt, data)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 4, append(code, kit.Const(0))...))
}

// show answers the request with size bytes of memory from resultAt.
func show(set, respond int, size int32) kit.Code {
	return append(append(
		kit.Call(set, kit.Const(int32(abi.FieldResponseBody)), kit.Const(0), kit.Const(0), kit.Const(resultAt), kit.Const(size)), kit.Drop()...),
		append(kit.Call(respond, kit.Const(200)), kit.Drop()...)...)
}

// numbers reads what a guest showed as i32, little endian.
func numbers(body string) []int32 {
	var all []int32
	for b := []byte(body); len(b) >= 4; b = b[4:] {
		all = append(all, int32(binary.LittleEndian.Uint32(b)))
	}
	return all
}

// called is the code that calls a function with zeros, and leaves an i32.
func called(m *kit.Module, function string) kit.Code {
	s := kit.Signatures[function]
	index := m.Import(function)
	var arguments []kit.Code
	for _, p := range s.Params {
		if p == kit.I64 {
			arguments = append(arguments, kit.Const64(0))
		} else {
			arguments = append(arguments, kit.Const(0))
		}
	}
	code := kit.Call(index, arguments...)
	if s.Results[0] == kit.I64 {
		return kit.Wrap(code)
	}
	return code
}
