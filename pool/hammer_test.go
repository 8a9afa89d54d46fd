package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

// idle waits until nothing is open any more: releases are done by the shards, after their callers have gone.
func idle(t *testing.T, p *Pool) {
	t.Helper()
	for range 5000 {
		if p.busy() == (ShardStats{}) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("still open: %+v", p.busy())
}

// Of N parallel charges against a limit of L exactly L pass, under every durability, alone and together.
func TestHammerCount(t *testing.T) {
	const callers, each, most = 32, 50, 1000
	for _, durability := range []store.Durability{store.Sync, store.Async, store.None} {
		t.Run(durability.String(), func(t *testing.T) {
			p, end := open(t, vfs.NewMem(), store.Config{Shards: 4}, Config{Mailbox: callers})
			defer end()
			var policies []*Policy
			for i := range 3 {
				policy, err := p.Limit("f", fmt.Sprint(i), LimitSpec{Limit: most, Window: time.Hour, Durability: durability})
				if err != nil {
					t.Fatal(err)
				}
				policies = append(policies, policy)
			}
			var passed [3]atomic.Int64
			var wg sync.WaitGroup
			for n := range callers {
				rng := rand.New(rand.NewPCG(uint64(n), 0))
				wg.Go(func() {
					var tickets Tickets
					var verdicts [3]Verdict
					for range each {
						var charges []Charge
						for _, i := range rng.Perm(3)[:1+rng.IntN(3)] {
							charges = append(charges, Charge{Policy: policies[i], Key: []byte("k"), Cost: 1 + rng.Int64N(3)})
						}
						ok, err := p.Count(charges, verdicts[:], &tickets)
						if err != nil {
							t.Error(err)
							return
						}
						for _, c := range charges {
							if ok {
								passed[c.Policy.Name()[2]-'0'].Add(c.Cost)
							}
						}
						if err := tickets.Wait(); err != nil {
							t.Error(err)
						}
						tickets.Reset()
					}
				})
			}
			wg.Wait()
			for i, policy := range policies {
				var v [1]Verdict
				var tickets Tickets
				if _, err := p.Count([]Charge{{Policy: policy, Key: []byte("k"), Cost: most + 1}}, v[:], &tickets); err != nil {
					t.Fatal(err)
				}
				if got := passed[i].Load(); v[0].Used != got || got > most {
					t.Errorf("policy %d: %d counted, %d passed of %d", i, v[0].Used, got, most)
				}
			}
			idle(t, p)
		})
	}
}

// A caller's next call finds the place of its former one free.
func TestAsManyCallersAsTheMailboxAreNeverRefused(t *testing.T) {
	const callers = 2
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 1}, Config{Mailbox: callers})
	defer end()
	policy, err := p.Limit("f", "n", LimitSpec{Limit: MaxCost, Window: time.Hour, Durability: store.None})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			var tickets Tickets
			var v [1]Verdict
			for range 2000 {
				if _, err := p.Count([]Charge{{Policy: policy, Key: []byte("k"), Cost: 1}}, v[:], &tickets); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Owners that fail, complete and hang up, waiters that leave: one runs at a time, one response is stored for
// each key, and everybody who stays gets it.
func TestHammerFlights(t *testing.T) {
	const callers, keys, rounds = 24, 3, 40
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 2}, Config{})
	defer end()
	policy := once(t, p, "once", OnceSpec{MaxWait: time.Minute, MaxWaiters: callers})
	var running, completed [rounds][keys]atomic.Int64
	var wg sync.WaitGroup
	for n := range callers {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		wg.Go(func() {
			var tickets Tickets
			for round := range rounds {
				k := rng.IntN(keys)
				claim, err := p.Begin(policy, fmt.Appendf(nil, "%d %d", round, k), [32]byte{}, &tickets)
				if err != nil {
					t.Error(err)
					return
				}
				state := claim.State()
				if state == Joined {
					ctx, cancel := context.WithCancel(context.Background())
					if rng.IntN(4) == 0 {
						cancel()
					}
					state, err = claim.Wait(ctx, &tickets)
					cancel()
					if errors.Is(err, context.Canceled) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
				switch state {
				case Execute:
					if running[round][k].Add(1) != 1 {
						t.Error("two run at once")
					}
					done := rng.IntN(3) == 0
					if done && completed[round][k].Add(1) != 1 {
						t.Error("completed twice")
					}
					running[round][k].Add(-1)
					if done {
						if err := claim.Complete(fmt.Append(nil, round, k), &tickets); err != nil {
							t.Error(err)
						}
					}
					claim.Release()
				case Replay:
					if record, _ := claim.Stored(); string(record) != fmt.Sprint(round, k) {
						t.Errorf("replay of %q", record)
					}
				}
				if err := tickets.Wait(); err != nil {
					t.Error(err)
				}
				tickets.Reset()
			}
		})
	}
	wg.Wait()
	idle(t, p)
}

// Whoever calls while the pool closes gets an answer or ErrClosed, and nothing hangs.
func TestHammerClose(t *testing.T) {
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 2}, Config{CloseWithin: time.Millisecond})
	counts := limit(t, p, "limit", 100, time.Hour)
	claims := once(t, p, "once", OnceSpec{MaxWait: time.Minute, MaxWaiters: 100})
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			var tickets Tickets
			var v [2]Verdict
			for i := 0; ; i++ {
				_, err := p.Count([]Charge{
					{Policy: counts, Key: fmt.Appendf(nil, "a%d", i%3), Cost: 1}, {Policy: counts, Key: []byte("b"), Cost: 1},
				}, v[:], &tickets)
				if err == nil {
					var claim *Claim
					if claim, err = p.Begin(claims, fmt.Append(nil, i/16), [32]byte{}, &tickets); err == nil {
						if _, err = claim.Wait(context.Background(), &tickets); err == nil && n%2 == 0 {
							err = claim.Complete([]byte("x"), &tickets)
						}
						claim.Release()
					}
				}
				tickets.Reset()
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, ErrEnded) {
					t.Error(err)
					return
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	end()
	wg.Wait()
}
