package store

import "container/list"

// hot is a response in memory.
type hot struct {
	key RowKey
	*response
	rule   *Rule
	commit uint64 // number of the commit that it belongs to
	isNew  bool   // its row has no index entry yet
	gone   bool   // its row is deleted; it stays here until that is durable
}

func (h *hot) size() int64 { return int64(len(h.record)) + hotOverhead }

// hotOverhead is about what a response costs beside its record.
const hotOverhead = 256

// responses are those in memory, in the order of their use. One shard owns them.
type responses struct {
	places map[RowKey]*list.Element
	order  list.List // most recently used first
	bytes  int64
}

func newResponses() *responses { return &responses{places: map[RowKey]*list.Element{}} }

func (t *responses) find(key RowKey) *hot {
	e := t.places[key]
	if e == nil {
		return nil
	}
	t.order.MoveToFront(e)
	return e.Value.(*hot)
}

// put keeps a response in place of the former one.
func (t *responses) put(h *hot) {
	if e := t.places[h.key]; e != nil {
		t.remove(e)
	}
	t.places[h.key] = t.order.PushFront(h)
	t.bytes += h.size()
}

func (t *responses) remove(e *list.Element) {
	h := t.order.Remove(e).(*hot)
	delete(t.places, h.key)
	t.bytes -= h.size()
}

// shrink drops the least recently used responses until at most keep bytes are left. One that is not durable
// yet stays.
func (t *responses) shrink(keep int64, durable uint64) {
	kept := 0
	for e := t.order.Back(); e != nil && t.bytes > keep && kept < shrinkSteps; {
		next := e.Prev()
		if e.Value.(*hot).commit > durable {
			kept++
		} else {
			t.remove(e)
		}
		e = next
	}
}
