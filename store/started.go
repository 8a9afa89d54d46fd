package store

// startRow stores that a request is about to run. It stands where its response will.
func (s *shard) startRow(op *Op) {
	s.replace(op, &response{digest: op.Digest, started: true, expires: s.now.Store + op.Rule.TTL})
}

// forget removes the row that says that a request was started: it is known that the request has left nothing
// to replay, or that it never ran. A stored response stays.
func (s *shard) forget(op *Op) {
	h, ok := s.stored(op)
	switch {
	case !ok:
	case h == nil, h.gone, !h.started, h.digest != op.Digest:
		op.Outcome = Absent
	default:
		s.bury(op)
		op.Outcome, op.Placed = Done, true
	}
}
