package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// expire deletes the row of op if its time is over. One that lives is filed again under the time when it
// will be over, since the entry that led here goes.
func (s *shard) expire(op *Op) {
	switch op.table {
	case tableCounter:
		s.expireCounter(op)
	case tableResponse:
		s.expireResponse(op)
	case tableReserved:
		s.expireReservation(op)
	default:
		s.unreadable(op, fmt.Errorf("%w: index entry of table %q", ErrCorrupt, op.table))
	}
}

func (s *shard) expireCounter(op *Op) {
	i := s.place(op)
	if i == none {
		return
	}
	c := &s.counters.slots[i]
	switch {
	case c.row == (Row{}):
		op.Outcome = Absent
	case s.now.Store < c.row.End:
		s.refile(op, c.row.End)
	case c.held > 0:
		s.refile(op, s.now.Store+expiryBucket)
	default:
		c.row, c.counted = Row{}, false
		s.store.capacity.of(c.policy).give()
		s.touch(i)
		op.Outcome = Done
	}
}

func (s *shard) expireResponse(op *Op) {
	h := s.responses.find(op.Key)
	if h == nil {
		expires, err := s.responseExpiry(op.Key)
		switch {
		case errors.Is(err, pebble.ErrNotFound):
			op.Outcome = Absent
			return
		case err != nil:
			s.unreadable(op, err)
			return
		}
		h = &hot{key: op.Key, response: &response{expires: expires}}
	}
	switch {
	case h.gone:
		op.Outcome = Absent
	case s.now.Store < h.expires:
		s.refile(op, h.expires)
	default:
		s.bury(op)
		s.store.capacity.of(op.Rule.Policy).give()
		op.Outcome = Done
	}
}

// responseExpiry reads when a response expires that is not in memory.
func (s *shard) responseExpiry(key RowKey) (time.Duration, error) {
	putRowName(s.name[:], tableResponse, key)
	value, closer, err := s.store.db.Get(s.name[:])
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	if err := checkResponse(value); err != nil {
		return 0, err
	}
	return time.Duration(binary.LittleEndian.Uint64(value[8:])), nil
}

// bury has the batch delete the response under the key of op.
func (s *shard) bury(op *Op) {
	h := &hot{key: op.Key, rule: op.Rule, gone: true, response: &response{}}
	s.responses.put(h)
	s.put = append(s.put, h)
}

func (s *shard) expireReservation(op *Op) {
	r := s.reservation(op)
	switch {
	case r == nil:
	case r.gone:
		op.Outcome = Absent
	case s.now.Store < r.expires:
		s.refile(op, r.expires)
	default:
		r.gone, r.policy = true, op.Rule.Policy
		s.store.capacity.of(r.policy).give()
		s.claim(r)
		op.Outcome = Done
	}
}

// filing is an index entry to be written again.
type filing struct {
	key     RowKey
	policy  PolicyID
	table   byte
	expires time.Duration
}

func (s *shard) refile(op *Op, expires time.Duration) {
	s.refiled = append(s.refiled, filing{op.Key, op.Rule.Policy, op.table, expires})
	op.Outcome = Alive
}
