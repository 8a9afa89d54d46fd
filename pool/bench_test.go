package pool

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

const benchKeys = 100_000

// BenchmarkCount is one charge after another by each of the callers, durable before the next.
func BenchmarkCount(b *testing.B) {
	for _, durability := range []store.Durability{store.Sync, store.None} {
		for _, callers := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%v/%d", durability, callers), func(b *testing.B) {
				p, end := open(b, vfs.Default, store.Config{Path: b.TempDir()}, Config{})
				defer end()
				policy, err := p.Limit("bench", "limit", LimitSpec{Limit: MaxCost, Window: time.Hour, Durability: durability})
				if err != nil {
					b.Fatal(err)
				}
				warm(b, p, policy)
				b.ReportAllocs()
				b.ResetTimer()
				used := processorTime(b)
				var wg sync.WaitGroup
				for n := range callers {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(n), 1))
						key := make([]byte, 0, 32)
						charges := []Charge{{Policy: policy, Cost: 1}}
						verdicts := make([]Verdict, 1)
						var tickets Tickets
						for i := n; i < b.N; i += callers {
							charges[0].Key = strconv.AppendInt(append(key[:0], "client-"...), rng.Int64N(benchKeys), 10)
							if _, err := p.Count(charges, verdicts, &tickets); err != nil {
								b.Error(err)
								return
							}
							if err := tickets.Wait(); err != nil {
								b.Error(err)
								return
							}
							tickets.Reset()
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(processorTime(b)-used)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// warm charges every key once, so that all rows are there and in memory.
func warm(b *testing.B, p *Pool, policy *Policy) {
	b.Helper()
	charges := []Charge{{Policy: policy, Cost: 1}}
	verdicts := make([]Verdict, 1)
	var tickets Tickets
	for i := range int64(benchKeys) {
		charges[0].Key = strconv.AppendInt([]byte("client-"), i, 10)
		if _, err := p.Count(charges, verdicts, &tickets); err != nil {
			b.Fatal(err)
		}
		tickets.Reset()
	}
}

// processorTime is what the process has used, which tells more than the clock on a machine that is shared.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
