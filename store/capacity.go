package store

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// capacity counts the rows that each policy has, over all shards.
type capacity struct {
	mu struct {
		sync.RWMutex
		tallies map[PolicyID]*tally
	}
}

func newCapacity() *capacity {
	c := &capacity{}
	c.mu.tallies = map[PolicyID]*tally{}
	return c
}

// of is the tally of a policy.
func (c *capacity) of(policy PolicyID) *tally {
	c.mu.RLock()
	t := c.mu.tallies[policy]
	c.mu.RUnlock()
	if t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t = c.mu.tallies[policy]; t == nil {
		t = &tally{}
		c.mu.tallies[policy] = t
	}
	return t
}

// readCapacity restores the counts that an earlier life of the store has left.
func readCapacity(db *pebble.DB) (*capacity, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableCount}, UpperBound: []byte{tableCount + 1}})
	if err != nil {
		return nil, fmt.Errorf("store: counts of rows: %w", err)
	}
	defer it.Close()
	c := newCapacity()
	for valid := it.First(); valid; valid = it.Next() {
		policy, rows, err := getCount(it.Key(), it.Value())
		if err != nil {
			return nil, err
		}
		t := c.of(policy)
		t.present.Store(rows)
		t.stored = rows
	}
	return c, it.Error()
}

// tally counts the rows of one policy.
type tally struct {
	present atomic.Int64 // rows, and places that were taken for rows to come
	stored  int64        // rows on disk once the commit that gathers is durable; the committer's mutex guards it
	again   atomic.Int64 // store time before which no row is looked for that has expired
}

// take takes a place for one more row, unless there are most already. most below 1 is no bound.
func (t *tally) take(most int64) bool {
	for {
		n := t.present.Load()
		if most > 0 && n >= most {
			return false
		}
		if t.present.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// give gives the place of a row back.
func (t *tally) give() { t.present.Add(-1) }

// Rows is how many rows a policy has.
func (e *Embedded) Rows(policy PolicyID) int64 { return e.capacity.of(policy).present.Load() }
