package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The n-th sync fails, for every n until a run has no failure left: no acknowledged charge is lost, none is
// acknowledged after, and the store says that it is dead.
func TestFailedSync(t *testing.T) {
	for n := 1; ; n++ {
		failed := false
		synctest.Test(t, func(t *testing.T) { failed = failNthSync(t, n) })
		if !failed {
			if n < 5 {
				t.Fatalf("only %d syncs were failed", n-1)
			}
			return
		}
	}
}

func failNthSync(t *testing.T, n int) (failed bool) {
	mem := vfs.NewCrashableMem()
	disk := newDisk(mem)
	machine := newMachine()
	var fatal error
	s := mustOpen(t, Config{Path: "data", FS: disk, Clock: machine, Shards: 2, Fatal: func(err error) { fatal = err }})
	disk.failSync(n)
	acknowledged := 0
	for range 8 {
		op := charge(s, "a")
		if op.Outcome == Unavailable {
			break
		}
		if op.Ticket.Wait() == nil {
			acknowledged++
		}
	}
	synctest.Wait()
	failed = disk.hits > 0
	if failed && (!errors.Is(s.Ready(), ErrDead) || !errors.Is(fatal, ErrDead)) {
		t.Errorf("sync %d failed; ready: %v, fatal: %v", n, s.Ready(), fatal)
	}
	if failed && charge(s, "a").Outcome != Unavailable {
		t.Errorf("sync %d failed, and a charge was taken after", n)
	}
	clone := mem.CrashClone(vfs.CrashCloneCfg{})
	err := s.Close()
	failed = disk.hits > 0 // the last syncs are those of Close
	if failed != (err != nil) {
		t.Errorf("sync %d: close: %v", n, err)
	}
	again := mustOpen(t, Config{Path: "data", FS: clone, Clock: machine, Shards: 2})
	defer mustClose(t, again)
	if got := charge(again, "a").Verdict.Used - 1; got < int64(acknowledged) || got > int64(acknowledged)+1 {
		t.Errorf("sync %d failed: %d charges after the restart, %d were acknowledged", n, got, acknowledged)
	}
	return failed
}

// Rows of one shard become durable in the order of their decisions: whatever survives a crash, nothing
// older is missing.
func TestCrashKeepsTheOrder(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			machine := newMachine()
			s := mustOpen(t, Config{Path: "data", FS: mem, Clock: machine, Shards: 1})
			var mu sync.Mutex
			var clone *vfs.MemFS
			const charges = 40
			at := rng.IntN(charges)
			for i := range charges {
				charge(s, fmt.Sprintf("k%02d", i))
				if i == at {
					// Stops when the clone is made.
					go func() {
						mu.Lock()
						defer mu.Unlock()
						clone = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, uint64(at)))})
					}()
				}
			}
			synctest.Wait()
			mustClose(t, s)
			again := mustOpen(t, Config{Path: "data", FS: clone, Clock: machine, Shards: 1})
			defer mustClose(t, again)
			missing := -1
			for i := range charges {
				present := charge(again, fmt.Sprintf("k%02d", i)).Verdict.Used == 2
				if present && missing >= 0 {
					t.Fatalf("seed %d: charge %d survived without charge %d", seed, i, missing)
				}
				if !present && missing < 0 {
					missing = i
				}
			}
		})
	}
}
