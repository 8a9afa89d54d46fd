package store

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/porchedge/porch/store/clock"
)

// commit is what becomes durable together. While it gathers, the committer's mutex guards it; then it
// belongs to the committer's goroutine.
type commit struct {
	Ticket
	number    uint64
	batch     *pebble.Batch
	decisions int
	born      time.Duration // first decision, by clock.Monotonic
	urgent    bool          // somebody waits for it
	settled   bool
	// tallies are of the policies that it adds rows to or deletes some of.
	tallies map[PolicyID]*tally
}

// count notes that c adds rows of a policy, or deletes some.
func (c *commit) count(policy PolicyID, t *tally, rows int64) {
	t.stored += rows
	if c.tallies == nil {
		c.tallies = map[PolicyID]*tally{}
	}
	c.tallies[policy] = t
}

// committer merges the writes of all shards and makes them durable, one commit after another: while one is
// synced the next one gathers, so commits grow with the load.
type committer struct {
	store   *Embedded
	durable atomic.Uint64 // number of the newest commit that is durable; they become so in order
	wake    chan struct{} // one place: a call is not lost while the committer is busy
	stopped chan struct{}
	broken  bool // it ended in the middle of a commit; valid once stopped is closed

	mu struct {
		sync.Mutex
		gathering *commit
		underway  *commit // nil if none
		stopping  bool
		last      bool // the commit under way is the last one
		dead      bool // the gathering commit is settled, and never sealed
		// below is the first bucket of the expiry index that entries may still be added to.
		below uint64
	}
}

func newCommitter(e *Embedded) *committer {
	k := &committer{store: e, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	k.mu.gathering = k.next(1)
	e.health.onDeath = k.fail
	return k
}

func (k *committer) next(number uint64) *commit {
	return &commit{Ticket: NewTicket(), number: number, batch: k.store.db.NewBatch()}
}

func (k *committer) start() {
	// Stops when stop is called, or when the store has died.
	go k.run()
}

// add has a shard write its batch into the commit that gathers. A shard's batches are committed in the
// order in which they were added.
func (k *committer) add(s *shard, decisions int) *commit {
	k.mu.Lock()
	c := k.mu.gathering
	wasUrgent, wasEmpty := c.urgent, c.batch.Empty()
	if wasEmpty {
		c.born = clock.Monotonic()
	}
	s.write(c)
	c.decisions += decisions
	call := wasEmpty || c.urgent && !wasUrgent
	k.mu.Unlock()
	if call {
		k.call()
	}
	return c
}

// hasten has c committed without waiting for the sync interval.
func (k *committer) hasten(c *commit) {
	k.mu.Lock()
	call := c == k.mu.gathering && !c.urgent
	c.urgent = true
	k.mu.Unlock()
	if call {
		k.call()
	}
}

func (k *committer) call() {
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

// stop has the rest committed and waits for the committer to end. It is false if a goroutine of Pebble's
// met the failure that the store died of, and may hold Pebble's locks for ever.
func (k *committer) stop() bool {
	k.mu.Lock()
	k.mu.stopping = true
	k.mu.Unlock()
	k.call()
	select {
	case <-k.stopped:
	case <-k.store.health.died:
		stuck := time.NewTimer(k.store.cfg.Stall)
		defer stuck.Stop()
		select {
		case <-k.stopped:
		case <-stuck.C:
			return false
		}
	}
	return k.store.health.gone() == nil || k.broken
}

func (k *committer) run() {
	k.broken = true // until it ends in the ordinary way
	defer close(k.stopped)
	defer func() {
		if r := recover(); r != nil { // Pebble panics when it cannot go on to the next log file
			k.store.health.die(fmt.Errorf("panic: %v", r))
		}
	}()
	due := time.NewTimer(k.store.cfg.SyncInterval)
	defer due.Stop()
	for {
		c, wait := k.seal()
		switch {
		case c != nil:
			k.commit(c)
			k.yield()
		case wait < 0:
			k.broken = false
			return
		default:
			due.Reset(wait)
			select {
			case <-k.wake:
			case <-due.C:
			}
		}
	}
}

// seal takes the commit that gathers if it is due. Otherwise wait says how long it has; below 0 that none
// will come.
func (k *committer) seal() (c *commit, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c = k.mu.gathering
	if k.mu.dead || k.mu.last {
		return nil, -1
	}
	if k.mu.stopping {
		k.mu.last = true // even if it is empty: store time goes on from here
	} else if c.batch.Empty() {
		return nil, time.Hour
	}
	now := clock.Monotonic()
	if wait = c.born + k.store.cfg.SyncInterval - now; wait > 0 && !c.urgent && !k.mu.last && c.batch.Len() < maxLag {
		return nil, wait
	}
	since := c.born
	if wait <= 0 {
		since = now
	}
	k.store.health.since.Store(int64(since))
	for policy, t := range c.tallies {
		c.batch.Set(countName(policy), appendCount(nil, t.stored), nil)
	}
	k.mu.underway = c
	k.mu.gathering = k.next(c.number + 1)
	return c, 0
}

// yield lets those go first who have something for the next commit, for as long as it grows: mostly the
// callers whom the last one has woken. So a steady load has larger commits, and an idle store waits for
// nobody. cmd/poolbench and BenchmarkCount show what it is good for: a third of the processor time.
func (k *committer) yield() {
	before := -1
	for range yieldsMost {
		k.mu.Lock()
		now := k.mu.gathering.decisions
		k.mu.Unlock()
		if now == before {
			return
		}
		before = now
		runtime.Gosched()
	}
}

// yieldsMost bounds yield where decisions keep coming that nobody waits for.
const yieldsMost = 8

// maxLag bounds the bytes that wait for the sync interval.
const maxLag = 4 << 20

// commit makes c durable. If that fails it does not return: see pebbleLogger.
func (k *committer) commit(c *commit) {
	began := clock.Monotonic()
	c.batch.Set(keyClock, appendClock(nil, k.store.clock.Read()), nil)
	done := Commit{Decisions: c.decisions, Rows: int(c.batch.Count()), Bytes: c.batch.Len()}
	if err := c.batch.Commit(pebble.Sync); err != nil {
		k.store.health.die(err)
	}
	c.batch.Close()
	now := clock.Monotonic()
	done.Took, done.Durable = now-began, now-c.born
	k.durable.Store(c.number)
	k.store.health.since.Store(idle)
	k.mu.Lock()
	k.mu.underway = nil
	settled := c.settled
	c.settled = true
	k.mu.Unlock()
	if !settled {
		c.Settle(nil)
	}
	k.store.cfg.Observer.Committed(done)
}

// passBelow has no entry added below a bucket of the expiry index any more. Those that were are on disk once
// the commit whose number it returns is durable.
func (k *committer) passBelow(bucket uint64) (number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.below = max(k.mu.below, bucket)
	if k.mu.gathering.batch.Empty() {
		return k.mu.gathering.number - 1
	}
	return k.mu.gathering.number
}

// forgetBelow deletes the entries of the expiry index below a bucket.
func (k *committer) forgetBelow(bucket uint64) {
	k.mu.Lock()
	c := k.mu.gathering
	if c.batch.Empty() {
		c.born = clock.Monotonic()
	}
	c.batch.DeleteRange([]byte{tableExpiry}, bucketStart(bucket), nil)
	k.mu.Unlock()
	k.call()
}

// fail settles every open ticket with the reason why none will be durable.
func (k *committer) fail(err error) {
	k.mu.Lock()
	k.mu.dead = true
	var open []*commit
	for _, c := range []*commit{k.mu.underway, k.mu.gathering} {
		if c != nil && !c.settled {
			c.settled = true
			open = append(open, c)
		}
	}
	k.mu.Unlock()
	for _, c := range open {
		c.Settle(err)
	}
}
