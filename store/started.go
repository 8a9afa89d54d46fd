package store

// startRow stores that a request is about to run. It stands where its response will.
func (s *shard) startRow(op *Op) {
	s.replace(op, &response{digest: op.Digest, started: true, expires: s.now.Store + op.Rule.TTL})
}

// forget removes the row that says that a request was started: it is known that the request has left nothing
// to replay, or that it never ran. A stored response stays.
func (s *shard) forget(op *Op) {
	digest := op.Digest
	s.lookup(op)
	if op.Outcome != Started {
		if op.Outcome != Unavailable {
			op.Outcome = Absent
		}
		return
	}
	h := &hot{key: op.Key, rule: op.Rule, gone: true, response: &response{digest: digest}}
	s.responses.put(h)
	s.put = append(s.put, h)
	op.Outcome = Done
}
