package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// pools is the pool over its store, with the defaults that porch run has.
type pools struct {
	store  *store.Embedded
	pool   *pool.Pool
	policy *pool.Policy
	commits
}

// commits counts what the committer does.
type commits struct {
	commits, decisions atomic.Int64
}

func (c *commits) Applied(int, int) {}

func (c *commits) Committed(done store.Commit) {
	c.commits.Add(1)
	c.decisions.Add(int64(done.Decisions))
}

func openPools(work string, l load) (*pools, error) {
	p := &pools{}
	var err error
	if p.store, err = store.Open(store.Config{Path: filepath.Join(work, "pool"), Observer: &p.commits}); err != nil {
		return nil, err
	}
	if p.pool, err = pool.Open(pool.Config{Store: p.store}); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	p.policy, err = p.pool.Limit("bench", "limit", pool.LimitSpec{Limit: pool.MaxCost, Window: time.Hour})
	return p, err
}

func (p *pools) close() error { return errors.Join(p.pool.Close(), p.store.Close()) }

// drive has callers charge one after the other, each waiting until its charge is durable.
func (p *pools) drive(callers int, l load) (turn, error) {
	commits, decisions := p.commits.commits.Load(), p.decisions.Load()
	perSecond, err := race(callers, l, func(n int) (func() error, func() error, error) {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		key := make([]byte, 0, 32)
		charges := []pool.Charge{{Policy: p.policy, Cost: 1}}
		verdicts := make([]pool.Verdict, 1)
		var tickets pool.Tickets
		return func() error {
			key = strconv.AppendInt(append(key[:0], "client-"...), rng.Int64N(int64(l.keys)), 10)
			charges[0].Key = key
			if _, err := p.pool.Count(charges, verdicts, &tickets); err != nil {
				return err
			}
			err := tickets.Wait()
			tickets.Reset()
			return err
		}, func() error { return nil }, nil
	})
	t := turn{perSecond: perSecond}
	if n := p.commits.commits.Load() - commits; n > 0 {
		t.batch = float64(p.decisions.Load()-decisions) / float64(n)
	}
	return t, err
}

// race has callers do one thing again and again for the time of a turn, and counts how often per second.
func race(callers int, l load, start func(n int) (do, end func() error, err error)) (perSecond float64, err error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var over atomic.Bool
	var wg sync.WaitGroup
	began := time.Now()
	timer := time.AfterFunc(l.duration, func() { over.Store(true) })
	defer timer.Stop()
	for n := range callers {
		// Stops when the turn is over, or on its first error.
		wg.Go(func() {
			do, end, err := start(n)
			var mine int64
			for err == nil && !over.Load() {
				if err = do(); err == nil {
					mine++
				}
			}
			if end != nil {
				err = errors.Join(err, end())
			}
			if err != nil {
				failed.Store(&err)
			}
			done.Add(mine)
		})
	}
	wg.Wait()
	perSecond = float64(done.Load()) / time.Since(began).Seconds()
	if err := failed.Load(); err != nil {
		return perSecond, *err
	}
	return perSecond, nil
}
