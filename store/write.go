package store

import "time"

// write puts what the batch wrote into c. The committer calls it, in the shard's goroutine.
func (s *shard) write(c *commit) {
	for _, i := range s.written {
		row := &s.counters.slots[i]
		row.commit = c.number
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
	for _, h := range s.put {
		h.commit = c.number
		c.urgent = true
		if h.gone {
			d := c.batch.DeleteDeferred(rowNameSize)
			putRowName(d.Key, tableResponse, h.key)
			d.Finish()
			continue
		}
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

func (s *shard) index(c *commit, expires time.Duration, policy PolicyID, key RowKey, table byte) {
	d := c.batch.SetDeferred(indexSize, 1)
	putIndex(d.Key, expires, policy, key)
	d.Value[0] = table
	d.Finish()
}
