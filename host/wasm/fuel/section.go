package fuel

import (
	"bytes"
	"slices"
)

// Numbers of sections.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionGlobal    = 6
	sectionExport    = 7
	sectionCode      = 10
	sectionDataCount = 12
)

// order is the order of the sections in a module: their numbers, but for the count of data segments, which was
// added later and stands before the code.
var order = []byte{1, 2, 3, 4, 5, sectionGlobal, sectionExport, 8, 9, sectionDataCount, sectionCode, 11}

const (
	kindFunction = 0
	kindTable    = 1
	kindMemory   = 2
	kindGlobal   = 3
)

const typeI64 = 0x7e

var header = []byte("\x00asm\x01\x00\x00\x00")

// section is one section of a module.
type section struct {
	id         byte
	start, end int // of its content, in the module
}

// split cuts a module into its sections.
func split(module []byte) ([]section, error) {
	if !bytes.HasPrefix(module, header) {
		return nil, &Error{0, "no WebAssembly module of version 1"}
	}
	r := reader{b: module, at: len(header)}
	var sections []section
	last := -1
	for r.more() {
		at := r.at
		id := r.byte()
		size := r.count()
		if place := slices.Index(order, id); id != sectionCustom {
			if place <= last {
				r.fail(at, "unknown section, or one out of order")
			}
			last = place
		}
		sections = append(sections, section{id, r.at, r.at + size})
		r.skip(size)
	}
	return sections, r.failure()
}
