package fuel

import (
	"encoding/binary"
	"slices"
	"strings"
)

// rebuild writes the module with its charges.
func (m *metering) rebuild(module []byte, sections []section, initial int64) ([]byte, error) {
	out := append(make([]byte, 0, len(module)+len(module)/6+64), header...)
	counter := slices.Concat([]byte{typeI64, 1, opI64Const}, signed(initial), []byte{opEnd})
	export := slices.Concat([]byte{byte(len(Global))}, []byte(Global), []byte{kindGlobal}, unsigned(uint64(m.counter)))
	added := []addition{
		{sectionGlobal, m.globals, counter},
		{sectionExport, m.exports, export},
	}
	for _, s := range sections {
		for len(added) > 0 && s.id != sectionCustom && before(added[0].id, s.id) {
			out = added[0].write(out, module)
			added = added[1:]
		}
		switch content := module[s.start:s.end]; {
		case s.id == sectionGlobal, s.id == sectionExport:
			// written above, with what was added
		case s.id == sectionCode:
			code, err := m.code(module, s)
			if err != nil {
				return nil, err
			}
			out = writeSection(out, s.id, code)
		case s.id == sectionCustom && isDebug(module, s):
		default:
			out = writeSection(out, s.id, content)
		}
	}
	for _, a := range added {
		out = a.write(out, module)
	}
	return out, nil
}

// addition is one more entry for a section that may not be there yet.
type addition struct {
	id    byte
	old   span
	entry []byte
}

func (a addition) write(out, module []byte) []byte {
	content := unsigned(uint64(a.old.count) + 1)
	content = append(content, module[a.old.start:a.old.end]...)
	return writeSection(out, a.id, append(content, a.entry...))
}

// before says whether section a stands before b, or is the same.
func before(a, b byte) bool { return slices.Index(order, a) <= slices.Index(order, b) }

func writeSection(out []byte, id byte, content []byte) []byte {
	out = append(out, id)
	out = binary.AppendUvarint(out, uint64(len(content)))
	return append(out, content...)
}

func isDebug(module []byte, s section) bool {
	r := reader{b: module[:s.end], at: s.start}
	return strings.HasPrefix(string(r.bytes()), ".debug_")
}

// code meters every function.
func (m *metering) code(module []byte, s section) ([]byte, error) {
	r := reader{b: module[:s.end], at: s.start}
	out := binary.AppendUvarint(make([]byte, 0, (s.end-s.start)+(s.end-s.start)/6), uint64(r.count()))
	for _, kind := range m.functions {
		size := r.count()
		f := reader{b: module[:r.at+size], at: r.at}
		r.skip(size)
		m.body.decode(&f, m, m.params[kind])
		if f.err == nil && r.err != nil {
			f.err = r.err
		}
		if f.err != nil {
			return nil, f.err
		}
		m.body.price()
		m.body.write(module, m.params[kind], m.counter)
		out = binary.AppendUvarint(out, uint64(len(m.body.out)))
		out = append(out, m.body.out...)
	}
	if r.more() {
		r.fail(r.at, "the section goes on after its last entry")
	}
	return out, r.failure()
}

func unsigned(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func signed(v int64) []byte { return appendSigned(nil, v) }

// appendSigned appends v in the binary format.
func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
