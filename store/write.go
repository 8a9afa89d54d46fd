package store

import "time"

// write puts what the batch wrote into c. The committer calls it, in the shard's goroutine.
func (s *shard) write(c *commit) {
	for _, i := range s.written {
		row := &s.counters.slots[i]
		row.commit = c.number
		if row.row == (Row{}) {
			s.erase(c, tableCounter, row.key, row.policy, &row.onDisk)
			continue
		}
		d := c.batch.SetDeferred(rowNameSize, counterSize)
		putRowName(d.Key, tableCounter, row.key)
		putCounter(d.Value, row.algorithm, row.row)
		d.Finish()
		if !row.onDisk {
			row.onDisk = true
			s.index(c, row.row.End, row.policy, row.key, tableCounter)
		}
		if row.durability == Sync {
			c.urgent = true
		}
	}
	s.writeReservations(c)
	for _, f := range s.refiled {
		s.file(c, f)
	}
	for _, h := range s.put {
		h.commit = c.number
		if h.gone {
			onDisk := true
			s.erase(c, tableResponse, h.key, h.rule.Policy, &onDisk)
			continue
		}
		c.urgent = true
		d := c.batch.SetDeferred(rowNameSize, headSize+len(h.record))
		putRowName(d.Key, tableResponse, h.key)
		putResponse(d.Value, h.response)
		d.Finish()
		if h.isNew {
			h.isNew = false
			s.index(c, h.expires, h.rule.Policy, h.key, tableResponse)
		}
	}
}

// index files a row that c creates.
func (s *shard) index(c *commit, expires time.Duration, policy PolicyID, key RowKey, table byte) {
	c.count(policy, s.store.capacity.of(policy), 1)
	s.file(c, filing{key, policy, table, expires})
}

// erase deletes a row that is on disk.
func (s *shard) erase(c *commit, table byte, key RowKey, policy PolicyID, onDisk *bool) {
	if !*onDisk {
		return
	}
	*onDisk = false
	d := c.batch.DeleteDeferred(rowNameSize)
	putRowName(d.Key, table, key)
	d.Finish()
	c.count(policy, s.store.capacity.of(policy), -1)
}

// file writes an index entry, never below what the janitor has passed.
func (s *shard) file(c *commit, f filing) {
	bucket := max(uint64(f.expires/expiryBucket), s.store.commit.mu.below)
	d := c.batch.SetDeferred(indexSize, 1)
	putIndex(d.Key, bucket, f.policy, f.key)
	d.Value[0] = f.table
	d.Finish()
}
