package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// What the engine does not tell of a module, or does not bound, is read from its sections here.

const (
	sectionImport = 2
	sectionTable  = 4

	moduleHeader = 8 // bytes: magic and version

	// maxTable bounds a guest's table: 8 MiB of host memory, far above what compilers make. wazero itself
	// lets table.grow take as much of the host's memory as the guest likes.
	maxTable = 1 << 20
)

var errSections = errors.New("sections are malformed")

// section is one section of a module; body lies in the source.
type section struct {
	id   byte
	body []byte
}

// sectionsOf cuts a module into its sections.
func sectionsOf(source []byte) ([]section, error) {
	if len(source) < moduleHeader || !bytes.Equal(source[:moduleHeader], []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("no WebAssembly module of version 1: the first bytes are other ones")
	}
	r := reader{b: source[moduleHeader:]}
	var all []section
	for len(r.b) > 0 && !r.failed {
		id := r.byte()
		all = append(all, section{id, r.take(r.u32())})
	}
	if r.failed {
		return nil, errSections
	}
	return all, nil
}

// imported is one import of a module.
type imported struct {
	module, name string
	kind         byte
}

const kindFunction = 0

// importsOf lists every import, functions or not, in order.
func importsOf(sections []section) ([]imported, error) {
	var all []imported
	for _, s := range sections {
		if s.id != sectionImport {
			continue
		}
		r := reader{b: s.body}
		for n := r.u32(); n > 0 && !r.failed; n-- {
			i := imported{module: string(r.take(r.u32())), name: string(r.take(r.u32())), kind: r.byte()}
			r.importType(i.kind)
			all = append(all, i)
		}
		if r.failed {
			return nil, errSections
		}
	}
	return all, nil
}

// boundTables returns the module with a maximum of at most maxTable for each of its tables.
func boundTables(source []byte, sections []section) ([]byte, error) {
	out := append(make([]byte, 0, len(source)+64), source[:moduleHeader]...)
	for _, s := range sections {
		if s.id == sectionTable {
			var err error
			if s.body, err = boundTableSection(s.body); err != nil {
				return nil, err
			}
		}
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out, nil
}

func boundTableSection(body []byte) ([]byte, error) {
	r := reader{b: body}
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n))
	for ; n > 0 && !r.failed; n-- {
		elem, hasMost := r.byte(), r.byte()
		least, most := r.u32(), uint32(maxTable)
		if hasMost&1 != 0 {
			most = min(r.u32(), maxTable)
		}
		if hasMost > 1 {
			return nil, errSections
		}
		if least > maxTable {
			return nil, fmt.Errorf("a table begins with %d entries; the most is %d", least, maxTable)
		}
		out = append(out, elem, 1)
		out = binary.AppendUvarint(out, uint64(least))
		out = binary.AppendUvarint(out, uint64(max(least, most)))
	}
	if r.failed {
		return nil, errSections
	}
	return out, nil
}

// reader reads the binary format. After a read past the end failed is set and every value is zero.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<32-1 {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return uint32(v)
}

func (r *reader) take(n uint32) []byte {
	if r.failed || uint64(n) > uint64(len(r.b)) {
		r.failed = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// importType steps over the type of an import.
func (r *reader) importType(kind byte) {
	switch kind {
	case kindFunction:
		r.u32()
	case 1: // table
		r.byte()
		r.limits()
	case 2: // memory
		r.limits()
	case 3: // global: type and mutability
		r.take(2)
	case 4: // tag: attribute and type
		r.byte()
		r.u32()
	default:
		r.failed = true
	}
}

func (r *reader) limits() {
	hasMost := r.byte()
	r.u32()
	if hasMost&1 != 0 {
		r.u32()
	}
}
