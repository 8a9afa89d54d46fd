package store

import "time"

// none is the place of no counter.
const none int32 = -1

// counter is a counter in memory.
type counter struct {
	key    RowKey
	policy PolicyID
	row    Row
	held   int64  // set aside by charges that are not settled
	commit uint64 // number of the commit that its newest write belongs to

	algorithm  Algorithm  // of the newest write
	durability Durability // of the newest write
	onDisk     bool       // the row exists, its index entry too
	touched    bool       // changed by the batch at hand
	counted    bool       // it has a place among its policy's rows
	used       bool       // the slot holds a counter

	newer, older int32 // neighbours in the order of use; older is the next free slot in a free one
}

// counters is a table of counters in the order of their use. Slots are used again and hold no pointers, so
// a million of them cost the collector nothing. One shard owns it.
type counters struct {
	places      map[RowKey]int32
	slots       []counter
	free        int32
	first, last int32 // most and least recently used
	cursor      int   // of reclaim
}

func newCounters() *counters {
	return &counters{places: map[RowKey]int32{}, free: none, first: none, last: none}
}

func (t *counters) len() int { return len(t.places) }

// find returns the place of a counter and makes it the most recently used; none if it is not here.
func (t *counters) find(key RowKey) int32 {
	i, ok := t.places[key]
	if !ok {
		return none
	}
	if t.first != i {
		t.unlink(i)
		t.link(i)
	}
	return i
}

// add puts a counter that is not here yet into the table.
func (t *counters) add(key RowKey, policy PolicyID, row Row, onDisk bool) int32 {
	i := t.free
	if i != none {
		t.free = t.slots[i].older
	} else {
		i = int32(len(t.slots))
		t.slots = append(t.slots, counter{})
	}
	t.slots[i] = counter{key: key, policy: policy, row: row, onDisk: onDisk, counted: onDisk, used: true}
	t.places[key] = i
	t.link(i)
	return i
}

func (t *counters) remove(i int32) {
	delete(t.places, t.slots[i].key)
	t.unlink(i)
	t.slots[i] = counter{older: t.free}
	t.free = i
}

func (t *counters) link(i int32) {
	c := &t.slots[i]
	c.newer, c.older = none, t.first
	if t.first != none {
		t.slots[t.first].newer = i
	} else {
		t.last = i
	}
	t.first = i
}

func (t *counters) unlink(i int32) {
	c := &t.slots[i]
	if c.newer != none {
		t.slots[c.newer].older = c.older
	} else {
		t.first = c.older
	}
	if c.older != none {
		t.slots[c.older].newer = c.newer
	} else {
		t.last = c.newer
	}
}

// shrinkSteps bounds the counters that one shrink looks at beyond those that it drops: those that must stay
// lie among the most recently used.
const shrinkSteps = 8

// shrink drops the least recently used counters until at most keep are left. One whose newest write is not
// durable yet, or that holds room for somebody, stays.
func (t *counters) shrink(keep int, durable uint64) {
	kept := 0
	for i := t.last; i != none && t.len() > keep && kept < shrinkSteps; {
		c := &t.slots[i]
		next := c.newer
		if c.commit > durable || c.held > 0 {
			kept++
		} else {
			t.remove(i)
		}
		i = next
	}
}

// reclaim looks at the next steps slots, round and round, and drops counters whose time is over, after it
// has told. It returns how many.
func (t *counters) reclaim(now time.Duration, steps int, tell func(*counter)) (dropped int) {
	for range min(steps, len(t.slots)) {
		t.cursor = (t.cursor + 1) % len(t.slots)
		c := &t.slots[t.cursor]
		if c.used && !c.touched && c.held == 0 && now >= c.row.End {
			tell(c)
			t.remove(int32(t.cursor))
			dropped++
		}
	}
	return dropped
}
