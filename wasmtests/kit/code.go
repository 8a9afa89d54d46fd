package kit

import "slices"

// Code is a piece of a function. Pieces are put one behind the other; what one leaves on the stack the
// next one takes.
type Code []byte

const opEnd = 0x0b

// Const puts an i32 on the stack.
func Const(v int32) Code { return append(Code{0x41}, signed(int64(v))...) }

// Const64 puts an i64 on the stack.
func Const64(v int64) Code { return append(Code{0x42}, signed(v)...) }

// Call calls a function with the arguments, each of which leaves one value.
func Call(function int, arguments ...Code) Code {
	return slices.Concat(join(arguments), Code{0x10}, u32(function))
}

// Drop takes a value off the stack.
func Drop() Code { return Code{0x1a} }

// Return ends the function with what lies on the stack.
func Return() Code { return Code{0x0f} }

// Unreachable traps.
func Unreachable() Code { return Code{0x00} }

// Get puts a local variable on the stack.
func Get(local int) Code { return append(Code{0x20}, u32(local)...) }

// Set stores the value of v in a local variable.
func Set(local int, v Code) Code { return slices.Concat(v, Code{0x21}, u32(local)) }

// GetGlobal puts a global variable on the stack.
func GetGlobal(global int) Code { return append(Code{0x23}, u32(global)...) }

// SetGlobal stores the value of v in a global variable.
func SetGlobal(global int, v Code) Code { return slices.Concat(v, Code{0x24}, u32(global)) }

// Loop repeats code until it leaves zero.
func Loop(code ...Code) Code {
	return slices.Concat(Code{0x03, 0x40}, join(code), Code{0x0d, 0, opEnd})
}

// If runs code if condition is not zero.
func If(condition Code, code ...Code) Code {
	return slices.Concat(condition, Code{0x04, 0x40}, join(code), Code{opEnd})
}

// Add adds two i32.
func Add(a, b Code) Code { return slices.Concat(a, b, Code{0x6a}) }

// Equal compares two i32: 1 if they are equal, else 0.
func Equal(a, b Code) Code { return slices.Concat(a, b, Code{0x46}) }

// IsZero is 1 for 0 and 0 for all else.
func IsZero(v Code) Code { return append(slices.Clone(v), 0x45) }

// Wrap makes an i32 of an i64.
func Wrap(v Code) Code { return append(slices.Clone(v), 0xa7) }

// Load reads an i32 from memory.
func Load(address Code) Code { return append(slices.Clone(address), 0x28, 0, 0) }

// Store writes an i32 to memory.
func Store(address, v Code) Code { return slices.Concat(address, v, Code{0x36, 0, 0}) }

// Grow grows the memory by pages, and leaves what memory.grow gives.
func Grow(pages Code) Code { return append(slices.Clone(pages), 0x40, 0) }

// Pages leaves the size of the memory.
func Pages() Code { return Code{0x3f, 0} }

// GrowTable grows table 0 by entries, and leaves what table.grow gives.
func GrowTable(entries Code) Code {
	return slices.Concat(Code{0xd0, 0x70}, entries, Code{0xfc, 0x0f, 0})
}

func join(code []Code) Code { return slices.Concat(code...) }

// signed is the signed LEB128 of v.
func signed(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
