package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

// guard declares a policy for Reserve of the filter "f".
func guard(t testing.TB, p *Pool, name string, ttl time.Duration) *Policy {
	t.Helper()
	policy, err := p.Guard("f", name, GuardSpec{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// reserve wants a reservation to be had, or not.
func reserve(t *testing.T, p *Pool, policy *Policy, key string, want bool) Reservation {
	t.Helper()
	var tickets Tickets
	r, reserved, err := p.Reserve(policy, []byte(key), &tickets)
	if err != nil || reserved != want {
		t.Errorf("reserve %s: %v, %v; want %v", key, reserved, err, want)
	}
	if err := tickets.Wait(); err != nil {
		t.Error(err)
	}
	return r
}

func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := open(t, vfs.NewMem(), store.Config{}, Config{})
		defer end()
		g := guard(t, p, "g", time.Minute)
		first := reserve(t, p, g, "k", true)
		reserve(t, p, g, "other", true)
		time.Sleep(30 * time.Second)
		duplicate := reserve(t, p, g, "k", false)
		duplicate.Release() // it has nothing to give
		reserve(t, p, g, "k", false)
		time.Sleep(30 * time.Second) // since the first: duplicates did not extend it
		second := reserve(t, p, g, "k", true)
		first.Release() // it was the former one's
		reserve(t, p, g, "k", false)
		second.Release()
		reserve(t, p, g, "k", true)
		for _, key := range []string{"", string(make([]byte, MaxKey+1))} {
			if _, _, err := p.Reserve(g, []byte(key), &Tickets{}); !errors.Is(err, ErrInvalid) {
				t.Errorf("a key of %d bytes: %v", len(key), err)
			}
		}
		if _, _, err := p.Reserve(limit(t, p, "l", 1, time.Minute), []byte("k"), &Tickets{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a limit as a guard: %v", err)
		}
		if _, err := p.Guard("f", "bad", GuardSpec{}); err == nil {
			t.Error("a guard without a window was declared")
		}
	})
}

// Of many that reserve one key at once exactly one has it.
func TestReserveHammer(t *testing.T) {
	p, end := open(t, vfs.NewMem(), store.Config{}, Config{})
	defer end()
	g := guard(t, p, "g", time.Hour)
	for range 20 {
		var owners atomic.Int64
		var owner Reservation
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				r, reserved, err := p.Reserve(g, []byte("k"), &Tickets{})
				if err != nil {
					t.Error(err)
				}
				if reserved {
					owners.Add(1)
					owner = r
				}
			})
		}
		all.Wait()
		if n := owners.Load(); n != 1 {
			t.Fatalf("%d owners", n)
		}
		owner.Release()
	}
}

// A caller that has given up when its reservation is made does not leave it behind.
func TestLateReservationIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := open(t, vfs.NewMem(), store.Config{Shards: 1}, Config{})
		defer end()
		g := guard(t, p, "g", time.Hour)
		row, err := p.row(g, KindGuard, []byte("k"))
		if err != nil {
			t.Fatal(err)
		}
		c := p.newCall(callStore)
		c.op = store.Op{Kind: store.OpReserve, Key: row, Rule: &g.rule}
		c.op.Outcome, c.op.Token = store.Reserved, 1
		p.store.Apply(0, []*store.Op{&c.op})
		p.shards[0].disown(c)
		synctest.Wait()
		reserve(t, p, g, "k", true)
	})
}

// owns begins as the owner of a key under a policy that refuses unknown outcomes.
func owns(t *testing.T, p *Pool, policy *Policy, key string) *Claim {
	t.Helper()
	var tickets Tickets
	claim, err := p.Begin(policy, []byte(key), [32]byte{}, &tickets)
	if err != nil || claim.State() != Execute {
		t.Fatalf("begin %s: %v", key, err)
	}
	if err := claim.Start(&tickets); err != nil {
		t.Fatal(err)
	}
	if err := tickets.Wait(); err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewCrashableMem()
		p, end := open(t, fs, store.Config{}, Config{})
		policy := once(t, p, "once", OnceSpec{MaxWait: time.Hour, MaxWaiters: 9, RefuseUnknown: true})
		state := func(key string, digest byte) State {
			claim, err := p.Begin(policy, []byte(key), [32]byte{digest}, &Tickets{})
			if err != nil {
				t.Fatal(err)
			}
			defer claim.Release()
			return claim.State()
		}
		wait := func(key string) <-chan State {
			claim, err := p.Begin(policy, []byte(key), [32]byte{}, &Tickets{})
			if err != nil || claim.State() != Joined {
				t.Fatal(claim.State(), err)
			}
			got := make(chan State, 1)
			// Stops when the owner has ended its flight.
			go func() {
				s, err := claim.Wait(context.Background(), &Tickets{})
				if err != nil {
					t.Error(err)
				}
				claim.Release()
				got <- s
			}()
			synctest.Wait()
			return got
		}
		check := func(what string, got, want State) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}

		lost := owns(t, p, policy, "lost")
		waiter := wait("lost")
		lost.Release()
		check("a waiter of an unknown outcome", <-waiter, Unknown)
		check("a duplicate of it", state("lost", 0), Unknown)
		check("another request under its key", state("lost", 1), Mismatch)

		known := owns(t, p, policy, "known")
		waiter = wait("known")
		var tickets Tickets
		if err := known.Forget(&tickets); err != nil || tickets.Wait() != nil {
			t.Error(err)
		}
		check("a waiter of a known failure", <-waiter, Execute)
		check("a duplicate of it", state("known", 1), Execute)

		done := owns(t, p, policy, "done")
		if err := done.Complete([]byte("r"), &tickets); err != nil || tickets.Wait() != nil {
			t.Error(err)
		}
		check("a duplicate of what was stored", state("done", 0), Replay)

		owns(t, p, policy, "crashed")
		clone := fs.CrashClone(vfs.CrashCloneCfg{})
		end()
		p, end = open(t, clone, store.Config{}, Config{})
		defer end()
		policy = once(t, p, "once", OnceSpec{RefuseUnknown: true})
		check("after a crash: a request that was at work", state("crashed", 0), Unknown)
		check("after a crash: lost", state("lost", 0), Unknown)
		check("after a crash: known", state("known", 1), Execute)
		check("after a crash: done", state("done", 0), Replay)
		time.Sleep(time.Hour)
		check("when its time has passed", state("crashed", 1), Execute)
	})
}

// A policy that runs again has no started row, and a claim that does not own a flight cannot start.
func TestStartWithoutRefusal(t *testing.T) {
	p, end := open(t, vfs.NewMem(), store.Config{}, Config{})
	defer end()
	policy := once(t, p, "once", OnceSpec{MaxWait: time.Hour, MaxWaiters: 1})
	claim := owns(t, p, policy, "k")
	claim.Release()
	if err := claim.Start(&Tickets{}); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	claim = owns(t, p, policy, "k")
	if err := claim.Forget(&Tickets{}); err != nil {
		t.Error(err)
	}
	owns(t, p, policy, "k").Release()
}
