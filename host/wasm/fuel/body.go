package fuel

// body is one function, as a list of steps. One is used for all functions of a module, one after the other.
type body struct {
	locals  int    // declared beside the parameters
	groups  int    // of locals
	declare [2]int // where the groups are
	start   int    // of the code
	end     int
	lengths bool // something is charged by its length

	steps  []step
	labels []uint32 // of all br_table
	open   []byte   // the instructions whose end has not come yet
	exits  []exit   // used by price
	entry  int64    // charge at the entry
	out    []byte
}

// step is an instruction that steers, or that is charged by a length, with what stands between it and the step
// before.
type step struct {
	kind   stepKind
	at     int   // start of the instruction
	after  int   // its end
	cost   int64 // of what stands before, and its own
	charge int64 // found by price: what is charged after the instruction
	label  uint32
	labels [2]int // in body.labels
	unit   int64  // of a length: units for each, or below zero minus the shift
}

type stepKind byte

const (
	stepBlock   stepKind = iota
	stepLoop             // a head
	stepIf               //
	stepElse             //
	stepEnd              // of a block or an if: a head if the way from here is long
	stepLoopEnd          // of a loop: the same, but branches to it go to the loop's head
	stepBr
	stepBrIf
	stepBrTable
	stepLeave  // return, unreachable
	stepLength // charged by its length
	stepGrow   // charged by its length if it did grow
)

// maxLocals is how many local variables a function may have, as in engines of browsers
// (https://webassembly.github.io/spec/js-api/#limits).
const maxLocals = 50_000

// decode reads a function that has as many parameters.
func (b *body) decode(r *reader, m *metering, params int) {
	*b = body{steps: b.steps[:0], labels: b.labels[:0], open: b.open[:0], exits: b.exits, out: b.out[:0]}
	b.decodeLocals(r)
	b.start = r.at
	b.open = append(b.open, opBlock)
	var run int64 // cost since the last step
	for len(b.open) > 0 && r.err == nil {
		s := step{at: r.at}
		op := r.byte()
		if operands[op] == operandNone {
			run += int64(costs[op])
			continue
		}
		switch op {
		case opCall:
			if r.u32() < uint32(m.imported) {
				run += costHost
			} else {
				run += int64(costs[opCall])
			}
			continue
		case opLocalGet, opLocalSet, opLocalTee:
			// So were the indexes of the variables that charging needs.
			if r.u32() >= uint32(params+b.locals) {
				r.fail(s.at, "no such local variable")
			}
			run += int64(costs[op])
			continue
		case opGlobalGet, opGlobalSet:
			// The counter's index was free before: a module that uses it would get hold of the counter.
			if r.u32() >= m.counter {
				r.fail(s.at, "no such global")
			}
			run += int64(costs[op])
			continue
		case opMemoryGrow:
			r.operands(op)
			s.kind, s.cost, s.unit = stepGrow, costGrow, unitsPerPage
			b.lengths = true
		case opMore:
			_, name := r.operands(op)
			if !b.length(&s, name) {
				run += int64(moreCosts[name])
				continue
			}
		default:
			if operands[op] != operandControl {
				prices, name := r.operands(op)
				run += int64(prices[name])
				continue
			}
			s.cost = int64(costs[op])
			b.control(r, &s, op)
		}
		s.after = r.at
		s.cost += run
		run = 0
		b.steps = append(b.steps, s)
	}
	if r.err == nil && r.more() {
		r.fail(r.at, "the function goes on after its end")
	}
	b.end = r.at
}

func (b *body) decodeLocals(r *reader) {
	start := r.at
	b.groups = r.count()
	b.declare[0] = r.at
	total := uint64(0)
	for range b.groups {
		total += uint64(r.u32())
		r.skip(1)
		if r.err != nil || total > maxLocals {
			break
		}
	}
	if total > maxLocals {
		r.fail(start, "too many local variables")
	}
	b.declare[1] = r.at
	b.locals = int(min(total, maxLocals))
}

// length makes s the step of an instruction after opMore that works by a length, if it is one.
func (b *body) length(s *step, name byte) bool {
	switch name {
	case moreMemoryInit, moreMemoryCopy, moreMemoryFill:
		s.kind, s.cost, s.unit = stepLength, costBulk, -bulkShift
	case moreTableInit, moreTableCopy, moreTableFill:
		s.kind, s.cost, s.unit = stepLength, costBulk, unitsPerEntry
	case moreTableGrow:
		s.kind, s.cost, s.unit = stepGrow, costGrow, unitsPerGrown
	default:
		return false
	}
	b.lengths = true
	return true
}

// control reads an instruction that steers.
func (b *body) control(r *reader, s *step, op byte) {
	switch op {
	case opBlock:
		r.blockType()
		s.kind = stepBlock
		b.open = append(b.open, op)
	case opLoop:
		r.blockType()
		s.kind = stepLoop
		b.open = append(b.open, op)
	case opIf:
		r.blockType()
		s.kind = stepIf
		b.open = append(b.open, op)
	case opElse:
		if b.open[len(b.open)-1] != opIf {
			r.fail(s.at, "else without if")
		}
		s.kind = stepElse
		b.open[len(b.open)-1] = opElse
	case opEnd:
		s.kind = stepEnd
		if b.open[len(b.open)-1] == opLoop {
			s.kind = stepLoopEnd
		}
		b.open = b.open[:len(b.open)-1]
	case opBr:
		s.kind, s.label = stepBr, b.target(r)
	case opBrIf:
		s.kind, s.label = stepBrIf, b.target(r)
	case opBrTable:
		s.kind = stepBrTable
		s.labels[0] = len(b.labels)
		for n := r.count(); n >= 0 && r.err == nil; n-- {
			b.labels = append(b.labels, b.target(r))
		}
		s.labels[1] = len(b.labels)
	default: // return, unreachable
		s.kind = stepLeave
	}
}

// target reads the label of a branch: how many of the open blocks lie inside the one that it leaves.
func (b *body) target(r *reader) uint32 {
	at := r.at
	label := r.u32()
	if uint64(label) >= uint64(len(b.open)) {
		r.fail(at, "no such label")
		return 0
	}
	return label
}
