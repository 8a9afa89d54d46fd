package pool

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

// openOn opens a pool of four shards over a store on mem, on a machine that was booted at the given time.
func openOn(t *testing.T, mem *vfs.MemFS, booted time.Time) (*Pool, *store.Embedded) {
	t.Helper()
	s, err := store.Open(store.Config{Path: "data", FS: mem, Shards: 4, Clock: machine{booted}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

func closeAll(p *Pool, s *store.Embedded) {
	p.Close()
	s.Close()
}

func limitOf(t *testing.T, p *Pool, spec LimitSpec) *Policy {
	t.Helper()
	policy, err := p.Limit("filter", "limit", spec)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func charge(p *Pool, policy *Policy, key string) (Verdict, error) {
	var tickets Tickets
	var v [1]Verdict
	_, err := p.Count([]Charge{{Policy: policy, Key: []byte(key), Cost: 1}}, v[:], &tickets)
	return v[0], err
}

func TestFullPolicyRefusesNewKeysOnly(t *testing.T) {
	for _, durability := range []store.Durability{store.Sync, store.Async, store.None} {
		t.Run(durability.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
				defer closeAll(p, s)
				policy := limitOf(t, p, LimitSpec{Limit: 9, Window: time.Minute, MaxKeys: 3, Durability: durability})
				for i := range 3 {
					if _, err := charge(p, policy, fmt.Sprint(i)); err != nil {
						t.Fatalf("key %d of 3: %v", i, err)
					}
				}
				for range 3 {
					if _, err := charge(p, policy, "new"); !errors.Is(err, ErrCapacity) {
						t.Fatalf("a fourth key: %v, want ErrCapacity", err)
					}
				}
				if v, err := charge(p, policy, "1"); err != nil || v.Used != 2 {
					t.Fatalf("a live key: used %d, %v; want 2", v.Used, err)
				}
				time.Sleep(time.Minute + time.Second)
				if _, err := charge(p, policy, "new"); err != nil {
					t.Fatalf("a new key after the others' window: %v", err)
				}
			})
		})
	}
}

func TestCapacityIsExactUnderConcurrency(t *testing.T) {
	p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
	defer closeAll(p, s)
	policy := limitOf(t, p, LimitSpec{Limit: 9, Window: time.Hour, MaxKeys: 10})
	var admitted atomic.Int64
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			switch _, err := charge(p, policy, fmt.Sprint(i)); {
			case err == nil:
				admitted.Add(1)
			case !errors.Is(err, ErrCapacity):
				t.Error(err)
			}
		})
	}
	clients.Wait()
	if admitted.Load() != 10 || s.Rows(policy.rule.Policy) != 10 {
		t.Fatalf("%d keys admitted, %d rows; want 10", admitted.Load(), s.Rows(policy.rule.Policy))
	}
}

func TestCapacityIsRestoredAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, booted := vfs.NewCrashableMem(), time.Now()
		p, s := openOn(t, mem, booted)
		defer func() { closeAll(p, s) }()
		spec := LimitSpec{Limit: 9, Window: time.Hour, MaxKeys: 5}
		policy := limitOf(t, p, spec)
		for i := range 5 {
			var tickets Tickets
			var v [1]Verdict
			charges := []Charge{{Policy: policy, Key: fmt.Append(nil, i), Cost: 1}}
			if _, err := p.Count(charges, v[:], &tickets); err != nil {
				t.Fatal(err)
			}
			if err := tickets.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		clone := mem.CrashClone(vfs.CrashCloneCfg{})
		closeAll(p, s)
		p, s = openOn(t, clone, booted)
		policy = limitOf(t, p, spec)
		if rows := s.Rows(policy.rule.Policy); rows != 5 {
			t.Fatalf("%d rows after the crash, want 5", rows)
		}
		if _, err := charge(p, policy, "new"); !errors.Is(err, ErrCapacity) {
			t.Fatalf("a sixth key after the crash: %v, want ErrCapacity", err)
		}
		if _, err := charge(p, policy, "4"); err != nil {
			t.Fatalf("a live key after the crash: %v", err)
		}
	})
}

func TestChargesOfARefusedCallTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
		defer closeAll(p, s)
		policy := limitOf(t, p, LimitSpec{Limit: 1, Window: time.Hour})
		if _, err := charge(p, policy, "spent"); err != nil {
			t.Fatal(err)
		}
		var tickets Tickets
		var v [9]Verdict
		var charges []Charge
		for _, key := range []string{"spent", "a", "b", "c", "d", "e", "f", "g", "h"} {
			charges = append(charges, Charge{Policy: policy, Key: []byte(key), Cost: 1})
		}
		if allowed, err := p.Count(charges, v[:], &tickets); allowed || err != nil {
			t.Fatalf("allowed %v, %v; want a refusal", allowed, err)
		}
		synctest.Wait()
		if rows := s.Rows(policy.rule.Policy); rows != 1 {
			t.Fatalf("%d rows, want that of the spent key alone", rows)
		}
	})
}

func TestClaimHoldsAPlaceUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
		defer closeAll(p, s)
		policy, err := p.Once("filter", "once", OnceSpec{TTL: time.Hour, MaxWait: time.Minute, MaxWaiters: 8, MaxKeys: 1, RefuseUnknown: true})
		if err != nil {
			t.Fatal(err)
		}
		var tickets Tickets
		begin := func(key string) (*Claim, error) { return p.Begin(policy, []byte(key), [32]byte{1}, &tickets) }
		first, err := begin("first")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begin("second"); !errors.Is(err, ErrCapacity) {
			t.Fatalf("a second key: %v, want ErrCapacity before anything runs", err)
		}
		first.Release()
		synctest.Wait()
		time.Sleep(time.Second)
		if err := first.Start(&tickets); !errors.Is(err, ErrEnded) {
			t.Fatalf("start after the end: %v", err)
		}
		second, err := begin("second")
		if err != nil {
			t.Fatalf("a key after the other was given back: %v", err)
		}
		if err := second.Start(&tickets); err != nil {
			t.Fatal(err)
		}
		if err := second.Forget(&tickets); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		third, err := begin("third")
		if err != nil {
			t.Fatalf("a key after the other was forgotten: %v", err)
		}
		if err := third.Start(&tickets); err != nil {
			t.Fatal(err)
		}
		if err := third.Complete([]byte("response"), &tickets); err != nil {
			t.Fatal(err)
		}
		if rows := s.Rows(policy.rule.Policy); rows != 1 {
			t.Fatalf("%d rows, want 1", rows)
		}
		if _, err := begin("first"); !errors.Is(err, ErrCapacity) {
			t.Fatalf("a key beside the stored one: %v, want ErrCapacity", err)
		}
		time.Sleep(time.Hour + time.Second)
		if _, err := begin("first"); err != nil {
			t.Fatalf("a key after the stored one has expired: %v", err)
		}
	})
}

func TestReservationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
		defer closeAll(p, s)
		policy, err := p.Guard("filter", "guard", GuardSpec{TTL: time.Minute, MaxKeys: 1})
		if err != nil {
			t.Fatal(err)
		}
		var tickets Tickets
		r, reserved, err := p.Reserve(policy, []byte("a"), &tickets)
		if err != nil || !reserved {
			t.Fatal(reserved, err)
		}
		if _, _, err := p.Reserve(policy, []byte("b"), &tickets); !errors.Is(err, ErrCapacity) {
			t.Fatalf("a second key: %v, want ErrCapacity", err)
		}
		if _, reserved, err := p.Reserve(policy, []byte("a"), &tickets); reserved || err != nil {
			t.Fatalf("a duplicate in a full policy: %v, %v", reserved, err)
		}
		r.Release()
		synctest.Wait()
		if _, reserved, err := p.Reserve(policy, []byte("b"), &tickets); !reserved || err != nil {
			t.Fatalf("after the release: %v, %v", reserved, err)
		}
	})
}

func TestJanitorDeletesWhatNobodyTouches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, booted := vfs.NewCrashableMem(), time.Now()
		p, s := openOn(t, mem, booted)
		defer func() { closeAll(p, s) }()
		policy := limitOf(t, p, LimitSpec{Limit: 9, Window: time.Minute})
		for i := range 1000 {
			if _, err := charge(p, policy, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Second)
		if _, err := charge(p, policy, "young"); err != nil {
			t.Fatal(err)
		}
		if rows := s.Rows(policy.rule.Policy); rows != 1001 {
			t.Fatalf("%d rows before anything has expired, want 1001", rows)
		}
		time.Sleep(40 * time.Second)
		if rows, deleted := s.Rows(policy.rule.Policy), p.Stats().Expired; rows != 1 || deleted != 1000 {
			t.Fatalf("%d rows and %d deleted after the window, want 1 and 1000", rows, deleted)
		}
		if v, err := charge(p, policy, "young"); err != nil || v.Used != 2 {
			t.Fatalf("the live key: used %d, %v; want 2", v.Used, err)
		}
		time.Sleep(time.Minute)
		if rows := s.Rows(policy.rule.Policy); rows != 0 {
			t.Fatalf("%d rows after every window, want 0", rows)
		}
		closeAll(p, s)
		p, s = openOn(t, mem, booted)
		if rows := s.Rows(policy.rule.Policy); rows != 0 {
			t.Fatalf("%d rows after a restart, want 0", rows)
		}
	})
}

func TestJanitorFilesRenewedRowsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := openOn(t, vfs.NewCrashableMem(), time.Now())
		defer closeAll(p, s)
		policy := limitOf(t, p, LimitSpec{Limit: 9, Window: time.Minute})
		for range 4 { // the last window is the fourth one
			if v, err := charge(p, policy, "renewed"); err != nil || v.Used != 1 {
				t.Fatalf("first charge of a window: used %d, %v", v.Used, err)
			}
			time.Sleep(time.Minute)
		}
		if _, err := charge(p, policy, "renewed"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if v, err := charge(p, policy, "renewed"); err != nil || v.Used != 2 {
			t.Fatalf("within the window: used %d, %v; want 2", v.Used, err)
		}
		time.Sleep(40 * time.Second)
		if rows := s.Rows(policy.rule.Policy); rows != 0 {
			t.Fatalf("%d rows after the last window, want 0", rows)
		}
	})
}
