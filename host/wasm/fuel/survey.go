package fuel

// metering is one module being metered.
type metering struct {
	params    []int    // of each type of function
	imported  int      // functions that are imported
	functions []uint32 // types of those that are not
	counter   uint32   // index of the counter: as many globals as the module has
	bodies    int

	globals, exports span
	body             body
}

// span is where the entries of a section are; count is how many.
type span struct {
	present    bool
	start, end int
	count      int
}

// survey reads what has to be known before anything is written.
func (m *metering) survey(module []byte, sections []section) error {
	for _, s := range sections {
		r := reader{b: module[:s.end], at: s.start}
		switch s.id {
		case sectionType:
			m.readTypes(&r)
		case sectionImport:
			m.readImports(&r)
		case sectionFunction:
			m.readFunctions(&r)
		case sectionGlobal:
			m.readGlobals(&r)
		case sectionExport:
			m.readExports(&r)
		case sectionCode:
			m.bodies = r.count()
			r.at = s.end
		default:
			continue
		}
		if r.more() {
			r.fail(r.at, "the section goes on after its last entry")
		}
		if r.err != nil {
			return r.err
		}
	}
	if m.bodies != len(m.functions) {
		return &Error{len(module), "as many functions as bodies are needed"}
	}
	return nil
}

func (m *metering) readTypes(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if at := r.at; r.byte() != 0x60 {
			r.fail(at, "unknown kind of type")
		}
		params := len(r.bytes())
		r.bytes()
		m.params = append(m.params, params)
	}
}

func (m *metering) readImports(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.bytes()
		r.bytes()
		at := r.at
		switch r.byte() {
		case kindFunction:
			r.u32()
			m.imported++
		case kindTable:
			r.byte()
			r.limits()
		case kindMemory:
			r.limits()
		case kindGlobal:
			r.skip(2) // type and mutability
			m.counter++
		default:
			r.fail(at, "unknown kind of import")
		}
	}
}

func (m *metering) readFunctions(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		at := r.at
		kind := r.u32()
		if uint64(kind) >= uint64(len(m.params)) {
			r.fail(at, "no such type")
		}
		m.functions = append(m.functions, kind)
	}
}

func (m *metering) readGlobals(r *reader) {
	n := r.count()
	m.globals = span{present: true, start: r.at, end: len(r.b), count: n}
	m.counter += uint32(n)
	for ; n > 0 && r.err == nil; n-- {
		r.skip(2) // type and mutability
		r.constant()
	}
}

func (m *metering) readExports(r *reader) {
	n := r.count()
	m.exports = span{present: true, start: r.at, end: len(r.b), count: n}
	for ; n > 0 && r.err == nil; n-- {
		at := r.at
		if string(r.bytes()) == Global {
			r.fail(at, "exports "+Global+", a name that is reserved for the host")
		}
		kind := r.byte()
		at = r.at
		if index := r.u32(); kind == kindGlobal && index >= m.counter {
			r.fail(at, "no such global")
		}
	}
}

// constant steps over a constant expression.
func (r *reader) constant() {
	for {
		at := r.at
		op := r.byte()
		if op == opEnd || r.err != nil {
			return
		}
		if operands[op] == operandControl {
			r.fail(at, "not a constant expression")
		}
		r.operands(op)
	}
}
