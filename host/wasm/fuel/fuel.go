// Package fuel rewrites WebAssembly modules so that what they may compute is bounded: an exported counter is
// charged at each function's entry, at each loop's head and where long ways meet, by what the code up to the
// next such place costs, and the module traps when the counter falls below zero. The host sets the counter
// before a call and reads it afterwards. package wasm calls it once for each module, before that is compiled.
// Nothing is kept here.
//
// A rewritten module means what the original meant, unless it runs out: functions, types, tables, memories and
// the globals that it had keep their indexes, so the names in a stack trace stay right.
package fuel

import "fmt"

// Global is the name under which a metered module exports its counter, a mutable i64: the units that are left,
// below zero once they ran out. Modules must not export anything else under it.
const Global = "porch.fuel"

// Meter returns the module with charges, whose counter starts at initial units. It knows WebAssembly 2.0
// (https://www.w3.org/TR/wasm-core-2/) and none of the later proposals. Sections of debugging data (.debug_*) are
// left out, since they speak of places in the code that have moved. The error, an *Error, says where a module is
// malformed, uses what is not known, or exports the reserved name; what is returned without one can still be
// invalid, just as the original was.
func Meter(module []byte, initial int64) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	var m metering
	if err := m.survey(module, sections); err != nil {
		return nil, err
	}
	return m.rebuild(module, sections, initial)
}

// Error says what is wrong with a module.
type Error struct {
	Offset int // bytes from the start of the module
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("fuel: at byte %d: %s", e.Offset, e.Reason) }
