package fuel

// Instructions that this package writes or looks at.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemoryGrow   = 0x40
	opI64Const     = 0x42
	opI64LtS       = 0x53
	opI64GeS       = 0x59
	opI64Sub       = 0x7d
	opI64Mul       = 0x7e
	opI64ShrU      = 0x88
	opI32WrapI64   = 0xa7
	opI64ExtendI32 = 0xac
	opI64ExtendU32 = 0xad
	opMore         = 0xfc // saturating conversions, bulk memory and tables
	opVector       = 0xfd

	noResult = 0x40
)

// Instructions after opMore.
const (
	moreMemoryInit = 0x08
	moreMemoryCopy = 0x0a
	moreMemoryFill = 0x0b
	moreTableInit  = 0x0c
	moreTableCopy  = 0x0e
	moreTableGrow  = 0x0f
	moreTableSize  = 0x10
	moreTableFill  = 0x11
)

// What follows the first byte of an instruction.
const (
	operandUnknown = iota // no instruction of WebAssembly 2.0
	operandNone
	operandIndex      // of a local, a function, a table
	operandGlobal     // index of a global
	operandIndex2     // two indexes
	operandMemory     // alignment and offset
	operandZero       // a memory index, which has to be 0
	operandI32        // a signed number of 32 bits
	operandI64        // of 64 bits
	operand4          // four bytes
	operand8          // eight
	operandType       // a reference type
	operandTypes      // the type that select gives
	operandMore       // opMore
	operandVector     // opVector
	operandControl    // handled where bodies are decoded
	operandLane       // a lane, one byte
	operandMemoryLane // alignment, offset and a lane
	operand16         // sixteen bytes
)

// operands is what follows the first byte of an instruction.
var operands = func() (t [256]byte) {
	fill(&t, operandNone, 0x01, 0x01)                 // nop
	fill(&t, operandControl, opUnreachable, 0x00)     //
	fill(&t, operandControl, opBlock, opElse)         //
	fill(&t, operandControl, opEnd, opReturn)         // end, branches, return
	fill(&t, operandIndex, opCall, opCall)            //
	fill(&t, operandIndex2, 0x11, 0x11)               // call_indirect
	fill(&t, operandNone, 0x1a, 0x1b)                 // drop, select
	fill(&t, operandTypes, 0x1c, 0x1c)                // select of a type
	fill(&t, operandIndex, opLocalGet, opLocalTee)    //
	fill(&t, operandGlobal, opGlobalGet, opGlobalSet) //
	fill(&t, operandIndex, 0x25, 0x26)                // table.get, table.set
	fill(&t, operandMemory, 0x28, 0x3e)               // loads and stores
	fill(&t, operandZero, 0x3f, opMemoryGrow)         // memory.size, memory.grow
	fill(&t, operandI32, 0x41, 0x41)                  // i32.const
	fill(&t, operandI64, opI64Const, opI64Const)      //
	fill(&t, operand4, 0x43, 0x43)                    // f32.const
	fill(&t, operand8, 0x44, 0x44)                    // f64.const
	fill(&t, operandNone, 0x45, 0xc4)                 // numbers
	fill(&t, operandType, 0xd0, 0xd0)                 // ref.null
	fill(&t, operandNone, 0xd1, 0xd1)                 // ref.is_null
	fill(&t, operandIndex, 0xd2, 0xd2)                // ref.func
	fill(&t, operandMore, opMore, opMore)             //
	fill(&t, operandVector, opVector, opVector)       //
	return t
}()

// moreOperands is what follows an instruction after opMore.
var moreOperands = func() (t [256]byte) {
	fill(&t, operandNone, 0x00, 0x07)                    // saturating conversions
	fill(&t, operandIndex2, moreMemoryInit, 0x08)        //
	fill(&t, operandIndex, 0x09, 0x09)                   // data.drop
	fill(&t, operandIndex2, moreMemoryCopy, 0x0a)        //
	fill(&t, operandIndex, moreMemoryFill, 0x0b)         //
	fill(&t, operandIndex2, moreTableInit, 0x0c)         //
	fill(&t, operandIndex, 0x0d, 0x0d)                   // elem.drop
	fill(&t, operandIndex2, moreTableCopy, 0x0e)         //
	fill(&t, operandIndex, moreTableGrow, moreTableFill) //
	return t
}()

// vectorOperands is what follows an instruction after opVector.
var vectorOperands = func() (t [256]byte) {
	fill(&t, operandMemory, 0x00, 0x0b)     // loads, store
	fill(&t, operand16, 0x0c, 0x0d)         // const, shuffle
	fill(&t, operandNone, 0x0e, 0x14)       // swizzle, splats
	fill(&t, operandLane, 0x15, 0x22)       // lanes
	fill(&t, operandNone, 0x23, 0x53)       // comparisons, bits
	fill(&t, operandMemoryLane, 0x54, 0x5b) // loads and stores of a lane
	fill(&t, operandMemory, 0x5c, 0x5d)     // loads of what is then filled up with zeros
	fill(&t, operandNone, 0x5e, 0xff)       // arithmetic
	return t
}()

func fill(t *[256]byte, value, from, to byte) {
	for i := int(from); i <= int(to); i++ {
		t[i] = value
	}
}

// operands steps over what follows the first byte op of an instruction. It returns the table and the byte that
// name the instruction.
func (r *reader) operands(op byte) (prices *[256]uint8, name byte) {
	start := r.at - 1
	switch kind := operands[op]; kind {
	case operandNone:
		return &costs, op
	case operandMore:
		second := r.u32()
		if second > 0xff || moreOperands[second] == operandUnknown {
			r.fail(start, "unknown instruction")
			return &moreCosts, 0
		}
		r.operand(moreOperands[second], start)
		return &moreCosts, byte(second)
	case operandVector:
		// From 0x80 on the number takes two bytes, the second one being 1. Nothing else is taken for it, since
		// engines that look at the first byte alone would see other instructions then.
		second := r.byte()
		if second >= 0x80 && r.byte() != 1 {
			r.fail(start, "unknown instruction")
			return &vectorCosts, 0
		}
		r.operand(vectorOperands[second], start)
		return &vectorCosts, second
	default:
		r.operand(kind, start)
		return &costs, op
	}
}

// operand steps over one kind of operands of the instruction at start.
func (r *reader) operand(kind byte, start int) {
	switch kind {
	case operandNone:
	case operandIndex, operandGlobal:
		r.u32()
	case operandIndex2:
		r.u32()
		r.u32()
	case operandMemory:
		r.u32()
		r.u32()
	case operandZero:
		if r.u32() != 0 {
			r.fail(start, "more than one memory")
		}
	case operandI32:
		r.signed(32)
	case operandI64:
		r.signed(64)
	case operand4:
		r.skip(4)
	case operand8:
		r.skip(8)
	case operand16:
		r.skip(16)
	case operandType:
		if t := r.byte(); t != 0x70 && t != 0x6f {
			r.fail(start, "unknown reference type")
		}
	case operandTypes:
		if r.u32() != 1 {
			r.fail(start, "select gives one value")
		}
		r.skip(1)
	case operandLane:
		r.skip(1)
	case operandMemoryLane:
		r.u32()
		r.u32()
		r.skip(1)
	default:
		r.fail(start, "unknown instruction")
	}
}

// blockType steps over the type of a block.
func (r *reader) blockType() {
	start := r.at
	switch t := r.signed(33); {
	case t >= 0, t == -64, -5 <= t && t <= -1, t == -16, t == -17:
	default:
		r.fail(start, "unknown type of a block")
	}
}
