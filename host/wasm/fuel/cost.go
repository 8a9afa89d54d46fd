package fuel

// What things cost, in units. One unit is about what an addition takes: half a nanosecond on a machine of today,
// up to two on a slow one. Every entry rests on measurements (BenchmarkCost) of the optimizing compiler, rounded
// up: what counts is that no code runs much longer for its units than other code does, because the budget of a
// filter bounds its time only as well as its dearest code is priced.
const (
	costPlain = 1 // the arithmetic of integers, constants, local variables

	// costEntry is a call: saving registers, the check of the stack's end and what the stack takes when it has to
	// grow, which moves all of it.
	costEntry = 100
	// costLocal is one declared local variable at each call: it is set to zero and needs its place on the stack.
	costLocal = 2
	// costHost is a call of the host: leaving the compiled code and coming back.
	costHost = 200
	// costIndirect also pays for functions of the host in tables, which charge nothing themselves.
	costIndirect = 30

	// costGrow is memory.grow or table.grow itself.
	costGrow = 1000
	// unitsPerPage is what a page (64 KiB) of new memory costs: the system clears it when it is first touched.
	unitsPerPage = 4096
	// unitsPerEntry is what table.fill, table.copy and table.init cost for each entry.
	unitsPerEntry = 2
	// unitsPerGrown is what one entry costs that a table grew by.
	unitsPerGrown = 4

	// costBulk is an instruction over memory or tables itself.
	costBulk = 50
	// bulkShift: memory.fill, memory.copy and memory.init do 1<<bulkShift bytes for one unit.
	bulkShift = 4
)

// costs are those of instructions of one byte.
var costs = func() (t [256]uint8) {
	fill(&t, costPlain, 0x00, 0xff)
	for _, free := range []byte{opUnreachable, 0x01, opBlock, opLoop, opElse, opEnd, 0x1a} {
		t[free] = 0 // no code comes of them
	}
	t[opBrIf] = 2
	t[opIf] = 2
	t[opBrTable] = 6 // a jump that the processor guesses badly
	t[opCall] = 5
	t[0x11] = costIndirect
	fill(&t, 2, 0x1b, 0x1c)               // select
	fill(&t, 2, opGlobalGet, opGlobalSet) // they lie in memory
	fill(&t, 5, 0x25, 0x26)               // table.get, table.set
	fill(&t, 3, 0x28, 0x3e)               // loads and stores check their bounds
	fill(&t, 2, 0x3f, 0x3f)               // memory.size
	fill(&t, 2, 0x67, 0x69)               // clz, ctz, popcnt of i32
	fill(&t, 2, 0x79, 0x7b)               // of i64
	fill(&t, 3, 0x6c, 0x6c)               // i32.mul
	fill(&t, 3, opI64Mul, opI64Mul)       //
	fill(&t, 20, 0x6d, 0x70)              // division of i32
	fill(&t, 20, 0x7f, 0x82)              // of i64
	fill(&t, 2, 0x5b, 0x66)               // comparison of floats
	fill(&t, 4, 0x8b, 0xa6)               // their arithmetic
	fill(&t, 20, 0x91, 0x91)              // f32.sqrt
	fill(&t, 20, 0x9f, 0x9f)              // f64.sqrt
	fill(&t, 15, 0x95, 0x95)              // f32.div
	fill(&t, 15, 0xa3, 0xa3)              // f64.div
	fill(&t, 8, 0x96, 0x97)               // f32.min, f32.max: several cases
	fill(&t, 8, 0xa4, 0xa5)               // f64.min, f64.max
	fill(&t, 8, 0xa8, 0xab)               // to i32, with checks
	fill(&t, 8, 0xae, 0xb1)               // to i64, with checks
	fill(&t, 6, 0xb2, 0xbb)               // to floats
	t[opMemoryGrow] = 0                   // a step of its own, priced there
	return t
}()

// moreCosts are those after opMore that have no step of their own.
var moreCosts = func() (t [256]uint8) {
	fill(&t, 10, 0x00, 0x07) // conversions with limits
	fill(&t, 20, 0x09, 0x09) // data.drop
	fill(&t, 20, 0x0d, 0x0d) // elem.drop
	fill(&t, 5, moreTableSize, moreTableSize)
	return t
}()

// vectorCosts are those after opVector.
var vectorCosts = func() (t [256]uint8) {
	fill(&t, 4, 0x00, 0xff)
	fill(&t, 8, 0x0d, 0x0e) // shuffle, swizzle
	for _, shift := range []byte{0x6b, 0x6c, 0x6d, 0xcc} {
		t[shift] = 12 // of bytes, and i64x2.shr_s: made of several instructions
	}
	t[0x62] = 15            // i8x16.popcnt
	t[0xd5] = 12            // i64x2.mul
	fill(&t, 8, 0xd6, 0xdb) // comparison of i64x2
	for _, root := range []byte{0xe3, 0xe7, 0xef, 0xf3} {
		t[root] = 30 // sqrt and division
	}
	for _, most := range []byte{0xe8, 0xe9, 0xf4, 0xf5} {
		t[most] = 12 // min and max
	}
	fill(&t, 15, 0xf8, 0xff) // conversions
	fill(&t, 15, 0x5e, 0x5f) // conversions
	return t
}()
