package store

import (
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/porchedge/porch/store/clock"
)

// Embedded is the store inside the process, over Pebble: each shard decides on rows in memory, and one
// committer makes what all of them wrote durable.
type Embedded struct {
	cfg    Config
	dir    *directory
	db     *pebble.DB
	clock  *clock.Clock
	keys   *keyer
	health *health
	commit *committer
	shards []*shard

	capacity *capacity
	sweeper  sweeper

	closing sync.Once
	closed  error
}

var _ Store = (*Embedded)(nil)

// Open opens the store in cfg.Path, and makes one where there is none. Errors are ErrLocked, ErrNewer,
// ErrForeign and those of the file system; the directory is then as it was before.
func Open(cfg Config) (*Embedded, error) {
	cfg = cfg.withDefaults()
	health := newHealth(cfg)
	dir, err := openDirectory(cfg.FS, cfg.Path)
	if err != nil {
		return nil, err
	}
	db, head, err := openDatabase(dir, cfg, health)
	if err != nil {
		return nil, errors.Join(err, dir.undo())
	}
	e := &Embedded{cfg: cfg, dir: dir, db: db, clock: head.clock, keys: newKeyer(head.secret), health: health,
		capacity: head.capacity}
	e.commit = newCommitter(e)
	for range cfg.Shards {
		e.shards = append(e.shards, newShard(e))
	}
	e.commit.start()
	return e, nil
}

// Shards is how many owners the rows have.
func (e *Embedded) Shards() int { return len(e.shards) }

// Key derives the key of a row.
func (e *Embedded) Key(identity, key []byte) RowKey { return e.keys.row(identity, key) }

// Policy derives the id of a policy.
func (e *Embedded) Policy(identity []byte) PolicyID { return e.keys.policy(identity) }

// Time is store time.
func (e *Embedded) Time() time.Duration { return e.clock.Now() }

// Ready is nil while decisions can be taken.
func (e *Embedded) Ready() error { return e.health.ready() }

// Apply decides a batch of one shard.
func (e *Embedded) Apply(shard int, batch []*Op) {
	e.shards[shard].apply(batch)
	e.cfg.Observer.Applied(shard, len(batch))
}

// Stats is a moment of the store.
func (e *Embedded) Stats() Stats {
	s := Stats{Commits: e.commit.durable.Load(), Pending: e.health.pending()}
	for _, shard := range e.shards {
		s.HotRows += int(shard.count.hot.Load())
		s.HotBytes += shard.count.bytes.Load()
		s.VolatileRows += int(shard.count.volatile.Load())
	}
	return s
}

// Close makes what is decided durable and closes the files. No Apply may run or follow. After the store has
// died it returns ErrDead, and the files may stay locked until the process ends.
func (e *Embedded) Close() error {
	e.closing.Do(func() {
		whole := e.commit.stop()
		e.closed = e.health.close()
		if !whole {
			return
		}
		if err := errors.Join(e.db.Close(), e.dir.close()); e.closed == nil {
			e.closed = err
		}
	})
	return e.closed
}
