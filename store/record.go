package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// lookup finds the response under the key of op, in memory or on disk.
func (s *shard) lookup(op *Op) {
	h := s.responses.find(op.Key)
	if h == nil {
		putRowName(s.name[:], tableResponse, op.Key)
		value, closer, err := s.store.db.Get(s.name[:])
		if errors.Is(err, pebble.ErrNotFound) {
			op.Outcome = Absent
			return
		}
		if err != nil {
			s.unreadable(op, err)
			return
		}
		r, err := getResponse(value)
		closer.Close()
		if err != nil {
			s.unreadable(op, err)
			return
		}
		h = &hot{key: op.Key, response: r}
		s.responses.put(h)
	}
	switch {
	case h.gone, s.now.Store >= h.expires:
		op.Outcome = Absent
	case h.digest != op.Digest:
		op.Outcome = Differs
	case h.started:
		op.Outcome = Started
	default:
		op.Outcome = Found
		op.Record, op.Oversize = h.record, h.oversize
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
		h.isNew = known.gone || known.isNew
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
	s.responses.put(h)
	s.put = append(s.put, h)
	op.Outcome = Done
}
