package pool

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/store"
)

var (
	// ErrInvalid is returned when a key, cost or limit is outside its bounds.
	ErrInvalid = errors.New("pool: key, cost or limit out of bounds")
	// ErrSaturated is returned when a bounded queue (mailbox, flights, waiters) is full. Nothing was decided.
	ErrSaturated = errors.New("pool: saturated")
	// ErrUnavailable is returned when the store cannot take decisions, or did not answer in time.
	ErrUnavailable = errors.New("pool: unavailable")
	// ErrCapacity is returned when a policy holds as many keys as it may.
	ErrCapacity = errors.New("pool: capacity reached")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("pool: closed")
	// ErrWaitedTooLong is returned by Wait when the policy's MaxWait has passed.
	ErrWaitedTooLong = errors.New("pool: waited too long for the flight")
	// ErrEnded is returned when a claim is completed that has ended, or never owned its flight.
	ErrEnded = errors.New("pool: claim has ended")
)

// MaxKey is the longest key in bytes, MaxCost the largest cost and limit, MaxCharges the most charges of one
// Count.
const (
	MaxKey     = 1024
	MaxCost    = 1 << 53
	MaxCharges = 64
)

// Pool decides. It is safe for use by many goroutines.
type Pool struct {
	cfg    Config
	store  store.Store
	shards []*shard
	calls  sync.Pool // *call
	plans  sync.Pool // *plan

	janitor *janitor
	expired atomic.Uint64 // rows that the janitor had deleted

	closed atomic.Bool
	closer sync.Once
	ended  sync.WaitGroup // the shards' goroutines
}

// Open starts the shards over cfg.Store, which stays the caller's to close, after the pool.
func Open(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	if have := cfg.Store.Shards(); cfg.Shards != have {
		return nil, fmt.Errorf("pool: %d shards over a store that was opened for %d", cfg.Shards, have)
	}
	p := &Pool{cfg: cfg, store: cfg.Store}
	p.calls.New = func() any { return newCall() }
	p.plans.New = func() any { return new(plan) }
	for i := range cfg.Shards {
		p.shards = append(p.shards, newShard(p, i))
	}
	for _, s := range p.shards {
		// Stops when Close has its mailbox stop, once the second queue is empty.
		p.ended.Go(s.run)
	}
	p.janitor = newJanitor(p)
	// Stops when Close closes it.
	go p.janitor.run()
	return p, nil
}

// Close refuses new work, has waiters return ErrClosed, waits up to Config.CloseWithin for open flights to
// end, and stops the shards. Claims that end later get ErrClosed. The store stays open.
func (p *Pool) Close() error {
	p.closer.Do(func() {
		p.closed.Store(true)
		p.janitor.close()
		limit := time.NewTimer(p.cfg.CloseWithin)
		defer limit.Stop()
		for _, s := range p.shards {
			s.inbox.close()
		}
		for _, s := range p.shards {
			select {
			case <-s.idle:
			case <-limit.C:
				limit.Reset(0) // the others have had their time as well
			}
		}
		for _, s := range p.shards {
			s.inbox.stop()
		}
		p.ended.Wait()
	})
	return nil
}

// Ready is nil while the pool can take decisions, else the reason why not.
func (p *Pool) Ready() error {
	if p.closed.Load() {
		return ErrClosed
	}
	return p.store.Ready()
}

// StoreTime is store time: it only moves forward, also over a restart.
func (p *Pool) StoreTime() time.Duration { return p.store.Time() }

// admit says whether new work may be taken now.
func (p *Pool) admit() error {
	if p.closed.Load() {
		return ErrClosed
	}
	if err := p.store.Ready(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

func (p *Pool) shard(key store.RowKey) *shard { return p.shards[key.Shard(len(p.shards))] }
