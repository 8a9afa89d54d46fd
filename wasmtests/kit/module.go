// Package kit is what a contract test of the Porch ABI is made of: an assembler for small modules, so that
// malformed and hostile ones need no toolchain, and the interface that a host under test implements. It
// imports nothing of Porch but abi, so that the authors of other hosts can use it.
package kit

import (
	"encoding/binary"
	"slices"

	"github.com/porchedge/porch/abi"
)

// Type is the type of a value.
type Type byte

// The types of values. The contract uses the first two.
const (
	I32 Type = 0x7f
	I64 Type = 0x7e
	F64 Type = 0x7c
)

// Signature is the type of a function.
type Signature struct {
	Params, Results []Type
}

func (s Signature) equal(other Signature) bool {
	return slices.Equal(s.Params, other.Params) && slices.Equal(s.Results, other.Results)
}

// Result is the signature of porch_configure, porch_request and porch_response.
var Result = Signature{Results: []Type{I32}}

// Signatures are those of the contract's functions.
var Signatures = map[string]Signature{
	abi.FuncPolicy:  {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
	abi.FuncReject:  {[]Type{I32, I32, I32, I32}, []Type{I32}},
	abi.FuncNeed:    {[]Type{I32, I32, I32, I64}, []Type{I32}},
	abi.FuncGet:     {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
	abi.FuncList:    {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
	abi.FuncSet:     {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
	abi.FuncAdd:     {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
	abi.FuncRemove:  {[]Type{I32, I32, I32}, []Type{I32}},
	abi.FuncRespond: {[]Type{I32}, []Type{I32}},
	abi.FuncCount:   {[]Type{I32, I32, I32}, []Type{I32}},
	abi.FuncReserve: {[]Type{I32, I32, I32}, []Type{I32}},
	abi.FuncBegin:   {[]Type{I32, I32, I32, I32}, []Type{I32}},
	abi.FuncDigest:  {[]Type{I32, I32}, []Type{I32}},
	abi.FuncClock:   {[]Type{I32}, []Type{I64}},
	abi.FuncLog:     {[]Type{I32, I32, I32}, []Type{I32}},

	abi.FuncVerifier: {[]Type{I32, I32, I32, I32}, []Type{I32}},
	abi.FuncVerify:   {[]Type{I32, I32, I32, I32, I32}, []Type{I32}},
}

// Module assembles a WebAssembly module. The zero value is an empty one. Imports come before functions.
type Module struct {
	types     []Signature
	imports   [][]byte
	imported  int   // functions among the imports
	functions []int // their types
	bodies    [][]byte
	tables    [][]byte
	memories  [][]byte
	globals   [][]byte
	exports   [][]byte
	start     *int
	data      [][]byte
}

// What an import or an export is.
const (
	KindFunction byte = 0
	KindTable    byte = 1
	KindMemory   byte = 2
	KindGlobal   byte = 3
)

// Import adds a function of the contract, with its signature there, and returns its index.
func (m *Module) Import(function string) int {
	return m.ImportAs(abi.Module, function, Signatures[function])
}

// ImportAs adds any function, and returns its index.
func (m *Module) ImportAs(module, name string, s Signature) int {
	m.imports = append(m.imports, slices.Concat(text(module), text(name), []byte{KindFunction}, u32(m.typeOf(s))))
	m.imported++
	return m.imported - 1
}

// ImportOther adds an import that is not a function; description is its type in the binary format.
func (m *Module) ImportOther(module, name string, kind byte, description ...byte) {
	m.imports = append(m.imports, slices.Concat(text(module), text(name), []byte{kind}, description))
}

// Function adds a function and returns its index. locals are the i32 variables that it has beside its
// parameters, whose indexes come first.
func (m *Module) Function(s Signature, locals int, code ...Code) int {
	m.functions = append(m.functions, m.typeOf(s))
	body := []byte{0}
	if locals > 0 {
		body = append(append([]byte{1}, u32(locals)...), byte(I32))
	}
	body = append(append(body, join(code)...), opEnd)
	m.bodies = append(m.bodies, append(u32(len(body)), body...))
	return m.imported + len(m.functions) - 1
}

// Export exports a function by its index.
func (m *Module) Export(name string, function int) { m.ExportAs(name, KindFunction, function) }

// ExportAs exports anything by its index.
func (m *Module) ExportAs(name string, kind byte, index int) {
	m.exports = append(m.exports, slices.Concat(text(name), []byte{kind}, u32(index)))
}

// Memory gives the module a memory of pages of 64 KiB, exported as the contract asks.
func (m *Module) Memory(pages int) {
	m.PrivateMemory(pages)
	m.ExportAs(abi.ExportMemory, KindMemory, 0)
}

// PrivateMemory gives the module a memory that it does not export.
func (m *Module) PrivateMemory(pages int) {
	m.memories = append(m.memories, append([]byte{0}, u32(pages)...))
}

// Table gives the module a table of function references without a maximum.
func (m *Module) Table(entries int) {
	m.tables = append(m.tables, append([]byte{0x70, 0}, u32(entries)...))
}

// Global adds a variable of type i32 and returns its index.
func (m *Module) Global(value int32) int {
	m.globals = append(m.globals, slices.Concat([]byte{byte(I32), 1}, Const(value), []byte{opEnd}))
	return len(m.globals) - 1
}

// Start has the engine call a function, of no parameters and no results, when it instantiates the module.
func (m *Module) Start(function int) { m.start = &function }

// Data puts bytes into the memory before anything runs.
func (m *Module) Data(address int32, b string) {
	m.data = append(m.data, slices.Concat([]byte{0}, Const(address), []byte{opEnd}, text(b)))
}

// Bytes is the module in the binary format.
func (m *Module) Bytes() []byte {
	var types, functions [][]byte
	for _, s := range m.types {
		types = append(types, slices.Concat([]byte{0x60}, typeList(s.Params), typeList(s.Results)))
	}
	for _, f := range m.functions {
		functions = append(functions, u32(f))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = section(out, 1, types)
	out = section(out, 2, m.imports)
	out = section(out, 3, functions)
	out = section(out, 4, m.tables)
	out = section(out, 5, m.memories)
	out = section(out, 6, m.globals)
	out = section(out, 7, m.exports)
	if m.start != nil {
		body := u32(*m.start)
		out = append(append(append(out, 8), u32(len(body))...), body...)
	}
	out = section(out, 10, m.bodies)
	return section(out, 11, m.data)
}

func (m *Module) typeOf(s Signature) int {
	if i := slices.IndexFunc(m.types, s.equal); i >= 0 {
		return i
	}
	m.types = append(m.types, s)
	return len(m.types) - 1
}

func section(out []byte, id byte, entries [][]byte) []byte {
	if len(entries) == 0 {
		return out
	}
	body := slices.Concat(u32(len(entries)), slices.Concat(entries...))
	return append(append(append(out, id), u32(len(body))...), body...)
}

func typeList(types []Type) []byte {
	out := u32(len(types))
	for _, t := range types {
		out = append(out, byte(t))
	}
	return out
}

func text(s string) []byte { return append(u32(len(s)), s...) }

func u32(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
