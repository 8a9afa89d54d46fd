package pool

import (
	"time"

	"github.com/porchedge/porch/store"
	"github.com/porchedge/porch/store/clock"
)

// JanitorConfig bounds the work of giving expired rows' space back. Zero values take the defaults.
type JanitorConfig struct {
	Interval time.Duration // between two passes; 1 s by default
	Batch    int           // rows that are looked at in one step, 1 to MaxJanitorBatch; 256 by default
	Budget   time.Duration // that a pass may take; 200 ms by default
}

// MaxJanitorBatch bounds JanitorConfig.Batch.
const MaxJanitorBatch = 4096

func (c JanitorConfig) withDefaults() JanitorConfig {
	if c.Interval <= 0 {
		c.Interval = time.Second
	}
	if c.Batch <= 0 {
		c.Batch = 256
	}
	c.Batch = min(c.Batch, MaxJanitorBatch)
	if c.Budget <= 0 {
		c.Budget = 200 * time.Millisecond
	}
	return c
}

// janitor has the owners of expired rows delete them. Whether a row still counts does not depend on it: that
// is decided by its time.
type janitor struct {
	pool    *Pool
	stop    chan struct{}
	stopped chan struct{}
}

func newJanitor(p *Pool) *janitor {
	return &janitor{pool: p, stop: make(chan struct{}), stopped: make(chan struct{})}
}

func (j *janitor) run() {
	defer close(j.stopped)
	every := time.NewTicker(j.pool.cfg.Janitor.Interval)
	defer every.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-every.C:
			j.pass()
		}
	}
}

// pass deletes what has expired until nothing is due, or its time is up: the next pass goes on there.
func (j *janitor) pass() {
	cfg := &j.pool.cfg.Janitor
	entries := make([]store.Entry, 0, cfg.Batch)
	for began := clock.Monotonic(); clock.Monotonic()-began < cfg.Budget; {
		select {
		case <-j.stop:
			return
		default:
		}
		due, err := j.pool.store.Due(entries)
		if err != nil {
			if j.pool.store.Ready() == nil {
				j.pool.cfg.Logger.Error("expired rows cannot be found", "error", err)
			}
			return
		}
		deleted, ok := j.pool.expire(due)
		if !ok {
			return
		}
		j.pool.expired.Add(uint64(deleted))
		j.pool.store.Swept()
		if len(due) < cap(due) {
			return
		}
	}
}

// expire has the owners of rows delete those whose time is over, and waits for them. It is not ok when an
// owner could not be asked.
func (p *Pool) expire(entries []store.Entry) (deleted int, ok bool) {
	rules := make([]store.Rule, len(entries))
	calls := make([]*call, len(entries))
	ok = true
	for i, entry := range entries {
		c := p.newCall(callStore)
		entry.Expire(&c.op, &rules[i])
		if !p.shard(entry.Key).inbox.pushSecond(c) {
			p.free(c)
			ok = false
			continue
		}
		calls[i] = c
	}
	for _, c := range calls {
		if c == nil {
			continue
		}
		<-c.done
		if c.op.Outcome == store.Done {
			deleted++
		}
		ok = ok && c.op.Outcome != store.Unavailable
		p.free(c)
	}
	return deleted, ok
}

// roomStep bounds the rows that a call to a full policy looks at.
const roomStep = 64

// makeRoom takes one bounded step to find expired rows of a full policy. It says whether there was one.
func (p *Pool) makeRoom(rule *store.Rule) bool {
	due, err := p.store.DueOf(rule.Policy, make([]store.Entry, 0, roomStep))
	if err != nil {
		p.cfg.Logger.Error("expired rows cannot be found", "error", err)
		return false
	}
	deleted, _ := p.expire(due)
	if rule.Durability == store.None {
		deleted += p.sweep(rule)
	}
	if deleted == 0 {
		p.store.Fruitless(rule.Policy)
	}
	return deleted > 0
}

// sweep has every shard look for counters of durability none whose time is over, and returns how many have
// found some.
func (p *Pool) sweep(rule *store.Rule) (found int) {
	var calls []*call
	for _, s := range p.shards {
		c := p.newCall(callStore)
		c.op = store.Op{Kind: store.OpSweep, Rule: rule}
		if !s.inbox.pushSecond(c) {
			p.free(c)
			continue
		}
		calls = append(calls, c)
	}
	for _, c := range calls {
		<-c.done
		if c.op.Outcome == store.Done {
			found++
		}
		p.free(c)
	}
	return found
}

// close waits for the pass at hand to end.
func (j *janitor) close() {
	close(j.stop)
	<-j.stopped
}
