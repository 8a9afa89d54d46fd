package store

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// reserve reserves the key of op, unless a reservation of it lives. Who finds one does not extend it.
func (s *shard) reserve(op *Op) {
	r := s.reservation(op)
	switch {
	case r == nil:
		return
	case !r.gone && s.now.Store < r.expires:
		op.Outcome = Taken
		return
	}
	if r.gone && !s.store.capacity.of(op.Rule.Policy).take(op.Rule.MaxKeys) {
		op.Outcome = Full
		return
	}
	s.token = max(s.token+1, uint64(s.now.Store))
	r.token, r.expires, r.gone = s.token, s.now.Store+op.Rule.TTL, false
	r.policy = op.Rule.Policy
	s.claim(r)
	op.Token = r.token
	op.Outcome = Reserved
}

// unreserve gives a reservation back to whom it belongs.
func (s *shard) unreserve(op *Op) {
	r := s.reservation(op)
	switch {
	case r == nil:
		return
	case r.gone || r.token != op.Token:
		op.Outcome = Absent
		return
	}
	r.gone, r.policy = true, op.Rule.Policy
	s.store.capacity.of(r.policy).give()
	s.claim(r)
	op.Outcome = Done
}

// reservation is that of op's key in memory, read from disk if it is not there; one that was never made is
// gone. On nil op has its outcome.
func (s *shard) reservation(op *Op) *reservation {
	if r := s.reserved.find(op.Key); r != nil {
		return r
	}
	putRowName(s.name[:], tableReserved, op.Key)
	value, closer, err := s.store.db.Get(s.name[:])
	if errors.Is(err, pebble.ErrNotFound) {
		return s.reserved.add(reservation{key: op.Key, gone: true})
	}
	if err != nil {
		s.unreadable(op, err)
		return nil
	}
	r := reservation{key: op.Key, onDisk: true}
	r.expires, r.token, err = getReservation(value)
	closer.Close()
	if err != nil {
		s.unreadable(op, err)
		return nil
	}
	return s.reserved.add(r)
}

// claim has the batch write r.
func (s *shard) claim(r *reservation) {
	if !r.touched {
		r.touched = true
		s.claimed = append(s.claimed, r)
	}
}

// writeReservations puts what the batch reserved and gave back into c.
func (s *shard) writeReservations(c *commit) {
	for _, r := range s.claimed {
		r.touched = false
		r.commit = c.number
		c.urgent = c.urgent || s.now.Store < r.expires
		if r.gone {
			s.erase(c, tableReserved, r.key, r.policy, &r.onDisk)
			continue
		}
		d := c.batch.SetDeferred(rowNameSize, reserveSize)
		putRowName(d.Key, tableReserved, r.key)
		putReservation(d.Value, r.expires, r.token)
		d.Finish()
		if !r.onDisk {
			r.onDisk = true
			s.index(c, r.expires, r.policy, r.key, tableReserved)
		}
	}
}

// reservation is a reservation in memory.
type reservation struct {
	key     RowKey
	policy  PolicyID
	token   uint64
	expires time.Duration
	commit  uint64 // number of the commit that its newest write belongs to
	gone    bool   // there is none; it stays here until that is durable
	onDisk  bool   // the row exists, its index entry too
	touched bool   // changed by the batch at hand

	newer, older *reservation // neighbours in the order of use
}

// reservations are those in memory, in the order of their use. One shard owns them.
type reservations struct {
	places      map[RowKey]*reservation
	first, last *reservation // most and least recently used
}

func newReservations() *reservations {
	return &reservations{places: map[RowKey]*reservation{}}
}

func (t *reservations) find(key RowKey) *reservation {
	r := t.places[key]
	if r != nil && t.first != r {
		t.unlink(r)
		t.link(r)
	}
	return r
}

// add keeps a reservation whose key is not here yet.
func (t *reservations) add(r reservation) *reservation {
	t.places[r.key] = &r
	t.link(&r)
	return &r
}

func (t *reservations) link(r *reservation) {
	r.newer, r.older = nil, t.first
	if t.first != nil {
		t.first.newer = r
	} else {
		t.last = r
	}
	t.first = r
}

func (t *reservations) unlink(r *reservation) {
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		t.first = r.older
	}
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		t.last = r.newer
	}
}

// shrink drops the least recently used until at most keep are left. One that is not durable yet stays.
func (t *reservations) shrink(keep int, durable uint64) {
	kept := 0
	for r := t.last; r != nil && len(t.places) > keep && kept < shrinkSteps; {
		next := r.newer
		if r.commit > durable {
			kept++
		} else {
			delete(t.places, r.key)
			t.unlink(r)
		}
		r = next
	}
}
