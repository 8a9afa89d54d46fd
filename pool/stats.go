package pool

// Stats is a moment of the pool.
type Stats struct {
	Shards  []ShardStats
	Expired uint64 // rows whose space the janitor has given back, since Open
}

// ShardStats is a moment of one shard.
type ShardStats struct {
	Mailbox int // unanswered messages
	Flights int // open
	Waiters int // of all its flights
	Bound   int // of Mailbox, and of Flights
}

// Stats is a moment of the pool.
func (p *Pool) Stats() Stats {
	s := Stats{Shards: make([]ShardStats, len(p.shards)), Expired: p.expired.Load()}
	for i, shard := range p.shards {
		s.Shards[i] = ShardStats{
			Mailbox: shard.inbox.depth(),
			Flights: int(shard.count.flights.Load()),
			Waiters: int(shard.count.waiters.Load()),
			Bound:   p.cfg.Mailbox,
		}
	}
	return s
}
