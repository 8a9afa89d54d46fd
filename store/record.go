package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// lookup finds the response under the key of op, in memory or on disk.
func (s *shard) lookup(op *Op) {
	h, ok := s.stored(op)
	switch {
	case !ok:
	case h == nil, h.gone:
		s.vacant(op)
	case s.now.Store >= h.expires:
		s.bury(op) // its place is that of the row to come
		op.Outcome, op.Placed = Absent, true
	case h.digest != op.Digest:
		op.Outcome = Differs
	case h.started:
		op.Outcome = Started
	default:
		op.Outcome = Found
		op.Record, op.Oversize = h.record, h.oversize
	}
}

// stored is what is under the key of op, expired or not; nil if nothing is. If it is not ok, op has its
// outcome.
func (s *shard) stored(op *Op) (h *hot, ok bool) {
	if h := s.responses.find(op.Key); h != nil {
		return h, true
	}
	putRowName(s.name[:], tableResponse, op.Key)
	value, closer, err := s.store.db.Get(s.name[:])
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, true
	}
	if err != nil {
		s.unreadable(op, err)
		return nil, false
	}
	r, err := getResponse(value)
	closer.Close()
	if err != nil {
		s.unreadable(op, err)
		return nil, false
	}
	h = &hot{key: op.Key, response: r}
	s.responses.put(h)
	return h, true
}

// vacant finds nothing, and takes a place for the row to come.
func (s *shard) vacant(op *Op) {
	op.Outcome = Absent
	if op.Placed = s.store.capacity.of(op.Rule.Policy).take(op.Rule.MaxKeys); !op.Placed {
		op.Outcome = Full
	}
}

// keep stores a response in place of what is under its key: an expired one, or nothing.
func (s *shard) keep(op *Op) {
	s.replace(op, &response{
		digest: op.Digest, oversize: op.Oversize, record: op.Record, expires: s.now.Store + op.Rule.TTL,
	})
}

// replace puts r in place of what is under the key of op.
func (s *shard) replace(op *Op, r *response) {
	known := s.responses.find(op.Key)
	h := &hot{key: op.Key, rule: op.Rule, response: r}
	if known != nil {
		h.isNew = known.gone
	} else {
		putRowName(s.name[:], tableResponse, op.Key)
		_, closer, err := s.store.db.Get(s.name[:])
		switch {
		case err == nil:
			closer.Close()
		case errors.Is(err, pebble.ErrNotFound):
			h.isNew = true
		default:
			s.unreadable(op, err)
			return
		}
	}
	switch tally := s.store.capacity.of(op.Rule.Policy); {
	case h.isNew && !op.Placed:
		tally.take(0) // the upstream has acted
	case !h.isNew && op.Placed:
		tally.give()
	}
	s.responses.put(h)
	s.put = append(s.put, h)
	op.Outcome = Done
}
