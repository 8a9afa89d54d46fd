package pool

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/porchedge/porch/store"
)

// The tests of this file and of the two beside it record what concurrent callers ask and are told, over
// several lives of a store with a crash of the machine between each two, and have porcupine look for an
// order of all that explains it. An answer counts if its tickets were durable before the crash. What had no
// answer by then may have happened or not.

const (
	linearLives   = 3
	linearCallers = 5
	linearCheck   = 30 * time.Second
)

// history is what happened, in all lives.
type history struct {
	began time.Time
	most  int // answers of one life, at most

	mu      sync.Mutex
	ops     []porcupine.Operation
	crashed bool // the present life; what is answered from now on is not known
	left    int  // answers until the present life is to end
	over    chan struct{}
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// ask records one operation, and says whether its answer is known. do returns nil if it has none.
func (h *history) ask(client int, input any, do func() any) bool {
	op := porcupine.Operation{ClientId: client, Input: input, Call: h.now()}
	output := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	known := output != nil && !h.crashed
	if known {
		op.Output, op.Return = output, h.now()
	} else {
		op.Return = math.MaxInt64
	}
	h.ops = append(h.ops, op)
	if known {
		if h.left--; h.left == 0 {
			close(h.over)
		}
	}
	return known
}

// crash is the moment at which the machine fails. atCrash runs in that moment.
func (h *history) crash(fs *vfs.MemFS, rng *rand.Rand, atCrash func(now int64)) *vfs.MemFS {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.crashed = true
	now := h.now()
	atCrash(now)
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
}

// live has callers at a pool, crashes the machine under them, and goes on with what has survived. A caller
// ends when it has done enough, or when an answer is not known.
func (h *history) live(t *testing.T, rng *rand.Rand, caller func(p *Pool, client int, rng *rand.Rand), atCrash func(now int64)) {
	clock := machine{started: time.Now()}
	fs := vfs.NewCrashableMem()
	for life := range linearLives {
		h.crashed, h.left, h.over = false, 1+rng.IntN(h.most), make(chan struct{})
		p, end := open(t, slowDisk(fs, rng.Uint64()), store.Config{Clock: clock, Shards: 2, HotRows: 2, HotBytes: 1}, Config{CloseWithin: time.Millisecond})
		var wg sync.WaitGroup
		for n := range linearCallers {
			rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
			wg.Go(func() { caller(p, life*linearCallers+n, rng) })
		}
		done := make(chan struct{})
		// Stops when the callers have ended, which the crash has them do.
		go func() {
			defer close(done)
			wg.Wait()
		}()
		select {
		case <-h.over:
		case <-done:
		}
		next := h.crash(fs, rng, atCrash)
		end()
		<-done
		fs = next
	}
}

// check looks for an order that explains the history.
func (h *history) check(t *testing.T, seed uint64, model porcupine.Model) {
	t.Helper()
	known := 0
	for _, op := range h.ops {
		if op.Output != nil {
			known++
		}
	}
	t.Logf("%d operations, %d answered", len(h.ops), known)
	if result := porcupine.CheckOperationsTimeout(model, h.ops, linearCheck); result != porcupine.Ok {
		t.Errorf("seed %d: no order explains what was answered (%s)", seed, result)
	}
}

// seeds runs a test a few times, and names the seed of each.
func seeds(t *testing.T, rounds int, test func(t *testing.T, seed uint64)) {
	for range rounds {
		test(t, rand.Uint64())
	}
}

// slowDisk takes a moment for a sync now and then, so that decisions overlap commits.
func slowDisk(fs vfs.FS, seed uint64) vfs.FS {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			mu.Lock()
			pause := time.Duration(rng.IntN(300)) * time.Microsecond
			mu.Unlock()
			time.Sleep(pause)
		}
		return nil
	}))
}
