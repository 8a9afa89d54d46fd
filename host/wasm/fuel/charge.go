package fuel

import "encoding/binary"

// writer writes a function with its charges. It has one or two variables of its own, both i64: left, what is
// left after a charge, and length, that of an instruction that is charged by it.
type writer struct {
	out          []byte
	counter      uint64 // index of the global
	left, length uint64 // indexes of the variables
}

// write writes the function to b.out.
func (b *body) write(module []byte, params int, counter uint32) {
	w := writer{out: b.out[:0], counter: uint64(counter)}
	w.left = uint64(params + b.locals)
	w.length = w.left + 1
	own := uint64(1)
	if b.lengths {
		own = 2
	}
	w.out = binary.AppendUvarint(w.out, uint64(b.groups+1))
	w.out = append(w.out, module[b.declare[0]:b.declare[1]]...)
	w.out = append(binary.AppendUvarint(w.out, own), typeI64)
	w.charge(b.entry)
	from := b.start
	for i := range b.steps {
		s := &b.steps[i]
		if s.charge == 0 && s.kind != stepLength && s.kind != stepGrow {
			continue
		}
		switch s.kind {
		case stepLength:
			w.out = append(w.out, module[from:s.at]...)
			w.takeLength()
			w.chargeLength(s.unit)
			w.op(opLocalGet, w.length)
			w.out = append(w.out, opI32WrapI64)
			w.out = append(w.out, module[s.at:s.after]...)
		case stepGrow:
			w.out = append(w.out, module[from:s.at]...)
			w.takeLength()
			w.op(opLocalGet, w.length)
			w.out = append(w.out, opI32WrapI64)
			w.out = append(w.out, module[s.at:s.after]...)
			w.chargeGrown(s.unit)
		default:
			w.out = append(w.out, module[from:s.after]...)
			w.charge(s.charge)
		}
		from = s.after
	}
	b.out = append(w.out, module[from:b.end]...)
}

// charge takes units and traps if there are none left.
func (w *writer) charge(units int64) {
	w.op(opGlobalGet, w.counter)
	w.constant(units)
	w.take()
}

// take takes what lies on the stack from what lies below it, the counter.
func (w *writer) take() {
	w.out = append(w.out, opI64Sub)
	w.op(opLocalTee, w.left)
	w.op(opGlobalSet, w.counter)
	w.op(opLocalGet, w.left)
	w.constant(0)
	w.out = append(w.out, opI64LtS, opIf, noResult, opUnreachable, opEnd)
}

// takeLength moves the length on the stack to the variable.
func (w *writer) takeLength() {
	w.out = append(w.out, opI64ExtendU32)
	w.op(opLocalSet, w.length)
}

// chargeLength charges by the length.
func (w *writer) chargeLength(unit int64) {
	w.op(opGlobalGet, w.counter)
	w.op(opLocalGet, w.length)
	if unit < 0 {
		w.constant(-unit)
		w.out = append(w.out, opI64ShrU)
	} else {
		w.constant(unit)
		w.out = append(w.out, opI64Mul)
	}
	w.take()
}

// chargeGrown charges by the length unless the result on the stack is -1.
func (w *writer) chargeGrown(unit int64) {
	w.out = append(w.out, opI64ExtendI32)
	w.op(opLocalTee, w.left)
	w.out = append(w.out, opI32WrapI64)
	w.op(opLocalGet, w.left)
	w.constant(0)
	w.out = append(w.out, opI64GeS, opIf, noResult)
	w.chargeLength(unit)
	w.out = append(w.out, opEnd)
}

func (w *writer) op(op byte, index uint64) {
	w.out = binary.AppendUvarint(append(w.out, op), index)
}

func (w *writer) constant(v int64) {
	w.out = appendSigned(append(w.out, opI64Const), v)
}
