package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Entry names a row that has expired, or is about to: an entry of the expiry index.
type Entry struct {
	Key    RowKey
	Policy PolicyID
	table  byte
}

// Expire makes op the operation by which the owner of the row deletes it if its time is over. rule carries
// the policy.
func (e Entry) Expire(op *Op, rule *Rule) {
	rule.Policy = e.Policy
	*op = Op{Kind: OpExpire, Key: e.Key, Rule: rule, table: e.table}
}

// sweeper is a walk through the expiry index. It belongs to the caller of Due and Swept.
type sweeper struct {
	below   uint64 // no entry is added any more to the buckets below
	after   uint64 // number of the commit with which those that were are on disk
	next    []byte // where the walk goes on
	handed  bool   // entries were handed out since the last Swept
	reached bool   // the walk has come to the end of the buckets below
}

// Due appends to entries the next rows that may have expired, at most cap(entries) in all, in the order of
// their time. None means that nothing is due. The caller has the owner of each apply its Expire, and calls
// Swept when all of them have. One goroutine at a time calls Due and Swept.
func (e *Embedded) Due(entries []Entry) ([]Entry, error) {
	w := &e.sweeper
	if w.next == nil {
		e.walk()
	}
	if e.commit.durable.Load() < w.after {
		return entries, nil
	}
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: w.next, UpperBound: bucketStart(w.below)})
	if err != nil {
		return entries, fmt.Errorf("store: expiry index: %w", err)
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		if len(entries) == cap(entries) {
			w.next = bytes.Clone(it.Key())
			return entries, nil
		}
		entry, _, err := getIndex(it.Key(), it.Value())
		if err != nil {
			return entries, err
		}
		entries = append(entries, entry)
		w.handed = true
	}
	w.reached = true
	return entries, it.Error()
}

// Swept says that the owners have applied what Due has given. It has the spent part of the index deleted.
func (e *Embedded) Swept() {
	w := &e.sweeper
	if w.handed && w.reached {
		e.commit.forgetBelow(w.below)
	}
	if w.reached {
		e.walk()
	}
}

// walk begins a walk over what is due now.
func (e *Embedded) walk() {
	below := uint64(e.clock.Now() / expiryBucket)
	e.sweeper = sweeper{below: below, after: e.commit.passBelow(below), next: []byte{tableExpiry}}
}

// dueAgain is how long after a search that found nothing the next one of a full policy is.
const dueAgain = 20 * time.Millisecond

// dueBuckets bounds the buckets that one search looks into.
const dueBuckets = 64

// DueOf appends to entries rows of one policy that may have expired, at most cap(entries) in all: those of a
// policy that is full. It finds none again for a moment after Fruitless.
func (e *Embedded) DueOf(policy PolicyID, entries []Entry) ([]Entry, error) {
	now := e.clock.Now()
	if now < time.Duration(e.capacity.of(policy).again.Load()) {
		return entries, nil
	}
	last := uint64(now / expiryBucket)
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableExpiry}, UpperBound: bucketStart(last + 1)})
	if err != nil {
		return entries, fmt.Errorf("store: expiry index: %w", err)
	}
	defer it.Close()
	valid := it.First()
	for steps := 0; valid && steps < dueBuckets && len(entries) < cap(entries); steps++ {
		bucket := binary.BigEndian.Uint64(it.Key()[1:])
		from := append(bucketStart(bucket), policy[:]...)
		for valid = it.SeekGE(from); valid && bytes.HasPrefix(it.Key(), from) && len(entries) < cap(entries); valid = it.Next() {
			entry, _, err := getIndex(it.Key(), it.Value())
			if err != nil {
				return entries, err
			}
			entries = append(entries, entry)
		}
		if bucket == last {
			break
		}
		valid = it.SeekGE(bucketStart(bucket + 1))
	}
	return entries, it.Error()
}

// Fruitless says that none of the rows that DueOf gave had expired.
func (e *Embedded) Fruitless(policy PolicyID) {
	e.capacity.of(policy).again.Store(int64(e.clock.Now() + dueAgain))
}
