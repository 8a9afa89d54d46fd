package fuel

// enough is the cost from which on the end of a block is a head of its own. Below, a branch that leaves early
// pays for what it passes by: that is cheaper than one more charge.
const enough = 64

// exit is an open block, seen from its end.
type exit struct {
	cost      int64 // of leaving it: up to the next head
	otherwise int64 // of the way through else, or past the if
}

// price finds what each head charges: the cost of the dearest way to the next heads. It goes backward, so that
// of every block the way from its end on is known before what branches there. A cycle always passes through a
// loop's head or through the entry, so what runs is charged, and before it runs.
func (b *body) price() {
	exits := b.exits[:0]
	way := int64(0)
	for i := len(b.steps) - 1; i >= 0; i-- {
		s := &b.steps[i]
		leaving := func(label uint32) int64 { return exits[len(exits)-1-int(label)].cost }
		switch s.kind {
		case stepEnd, stepLoopEnd:
			if way >= enough {
				s.charge, way = way, 0
			}
			e := exit{cost: way, otherwise: way}
			if s.kind == stepLoopEnd {
				e.cost = 0
			}
			exits = append(exits, e)
		case stepElse:
			e := &exits[len(exits)-1]
			e.otherwise, way = way, e.cost
		case stepIf:
			way = max(way, exits[len(exits)-1].otherwise)
			exits = exits[:len(exits)-1]
		case stepBlock:
			exits = exits[:len(exits)-1]
		case stepLoop:
			s.charge, way = way, 0
			exits = exits[:len(exits)-1]
		case stepBr:
			way = leaving(s.label)
		case stepBrIf:
			way = max(way, leaving(s.label))
		case stepBrTable:
			way = 0
			for _, label := range b.labels[s.labels[0]:s.labels[1]] {
				way = max(way, leaving(label))
			}
		case stepLeave:
			way = 0
		case stepLength, stepGrow:
		}
		way += s.cost
	}
	b.exits = exits
	b.entry = way + costEntry + costLocal*int64(b.locals)
}
