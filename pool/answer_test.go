package pool

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

// slow is a store whose batches wait at a gate.
type slow struct {
	store.Store
	gate chan struct{}
}

func (s *slow) Apply(shard int, batch []*store.Op) {
	s.Store.Apply(shard, batch)
	if s.gate != nil {
		<-s.gate
	}
}

// What was decided for a caller that did not wait for the answer is undone: nobody holds the flight or the
// room.
func TestLateAnswersHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Config{Path: "data", Shards: 1, FS: vfs.NewMem(), Clock: machine{started: time.Now()}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		slow := &slow{Store: s, gate: make(chan struct{})}
		p, err := Open(Config{Store: slow})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		counts := limit(t, p, "limit", 10, time.Hour)
		claims := once(t, p, "once", OnceSpec{})
		var tickets Tickets
		late := func(name string, ask func() error) {
			began := time.Now()
			if err := ask(); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			if waited := time.Since(began); waited != defaultAnswerWithin {
				t.Errorf("%s: waited %v", name, waited)
			}
		}
		var v [2]Verdict
		late("begin", func() error {
			_, err := p.Begin(claims, []byte("k"), [32]byte{}, &tickets)
			return err
		})
		late("a begin that waits in the mailbox", func() error {
			_, err := p.Begin(claims, []byte("k"), [32]byte{}, &tickets)
			return err
		})
		if got := p.busy().Mailbox; got != 2 {
			t.Errorf("%d unanswered", got)
		}
		close(slow.gate)
		synctest.Wait()
		if got := p.busy(); got != (ShardStats{}) {
			t.Errorf("still open: %+v", got)
		}
		slow.gate = make(chan struct{})
		late("hold", func() error {
			_, err := p.Count([]Charge{{Policy: counts, Key: []byte("a"), Cost: 10}, {Policy: counts, Key: []byte("b"), Cost: 10}}, v[:], &tickets)
			return err
		})
		close(slow.gate)
		synctest.Wait()
		for _, key := range []string{"a", "b"} {
			if ok, err := p.Count([]Charge{{Policy: counts, Key: []byte(key), Cost: 10}}, v[:], &tickets); !ok || err != nil {
				t.Errorf("%s: %v, %v", key, ok, err)
			}
		}
	})
}

func TestInvalidCharges(t *testing.T) {
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 1}, Config{})
	defer end()
	counts := limit(t, p, "limit", 10, time.Hour)
	claims := once(t, p, "once", OnceSpec{})
	good := Charge{Policy: counts, Key: []byte("k"), Cost: 1}
	with := func(change func(*Charge)) []Charge {
		c := good
		change(&c)
		return []Charge{good, c}
	}
	var tickets Tickets
	verdicts := make([]Verdict, MaxCharges+1)
	for name, charges := range map[string][]Charge{
		"none":                nil,
		"too many":            make([]Charge, MaxCharges+1),
		"empty key":           with(func(c *Charge) { c.Key = nil }),
		"long key":            with(func(c *Charge) { c.Key = make([]byte, MaxKey+1) }),
		"cost 0":              with(func(c *Charge) { c.Cost = 0 }),
		"negative cost":       with(func(c *Charge) { c.Cost = -1 }),
		"cost above 2^53":     with(func(c *Charge) { c.Cost = MaxCost + 1 }),
		"negative limit":      with(func(c *Charge) { c.Limit = -1 }),
		"limit above 2^53":    with(func(c *Charge) { c.Limit = MaxCost + 1 }),
		"no policy":           with(func(c *Charge) { c.Policy = nil }),
		"a policy for begins": with(func(c *Charge) { c.Policy = claims }),
	} {
		if _, err := p.Count(charges, verdicts, &tickets); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(charges); n == 2 {
			if _, err := p.Count(charges[1:], verdicts, &tickets); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s alone: %v", name, err)
			}
		}
	}
	if ok, err := p.Count(with(func(c *Charge) { c.Key, c.Cost, c.Limit = make([]byte, MaxKey), MaxCost, MaxCost }), verdicts, &tickets); !ok || err != nil {
		t.Errorf("the largest charge: %v, %v", ok, err)
	}
	if verdicts[0].Used != 1 {
		t.Errorf("invalid charges have charged %d", verdicts[0].Used-1)
	}
	for name, err := range map[string]error{
		"empty key":        second(p.Begin(claims, nil, [32]byte{}, &tickets)),
		"long key":         second(p.Begin(claims, make([]byte, MaxKey+1), [32]byte{}, &tickets)),
		"no policy":        second(p.Begin(nil, []byte("k"), [32]byte{}, &tickets)),
		"policy of counts": second(p.Begin(counts, []byte("k"), [32]byte{}, &tickets)),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("begin with %s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestDeclarationsAreChecked(t *testing.T) {
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 1}, Config{})
	defer end()
	for want, err := range map[string]error{
		"limit is 0":           second(p.Limit("f", "n", LimitSpec{Window: time.Second})),
		"limit is 9007199254":  second(p.Limit("f", "n", LimitSpec{Limit: MaxCost + 1, Window: time.Second})),
		"window is 0s":         second(p.Limit("f", "n", LimitSpec{Limit: 1})),
		"window is 87600h0m0.": second(p.Limit("f", "n", LimitSpec{Limit: 1, Window: MaxSpan + 1})),
		"durability 3":         second(p.Limit("f", "n", LimitSpec{Limit: 1, Window: time.Second, Durability: 3})),
		"ttl is 0s":            second(p.Once("f", "n", OnceSpec{})),
		"max_wait is -1ns":     second(p.Once("f", "n", OnceSpec{TTL: time.Hour, MaxWait: -1})),
		"max_waiters is -1":    second(p.Once("f", "n", OnceSpec{TTL: time.Hour, MaxWaiters: -1})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	policy, err := p.Limit("f", "n", LimitSpec{Limit: 1, Window: time.Second, Durability: store.Async})
	if err != nil || policy.Name() != "f/n" || policy.Kind() != KindLimit || policy.Durability() != store.Async {
		t.Errorf("%v %v", policy, err)
	}
}

// The hot path allocates nothing of its own; what a commit needs is shared by all that rest on it.
func TestCountAllocations(t *testing.T) {
	if raced {
		t.Skip("under the race detector allocations are not what they are")
	}
	p, end := open(t, vfs.NewMem(), store.Config{Shards: 1}, Config{})
	defer end()
	for _, c := range []struct {
		name       string
		durability store.Durability
		charges    int
		most       float64
	}{
		{"in memory", store.None, 1, 0},
		{"several charges in memory", store.None, 3, 0},
		{"durable, with a commit of its own", store.Sync, 1, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var charges []Charge
			for i := range c.charges {
				policy, err := p.Limit(c.name, string(rune('a'+i)), LimitSpec{Limit: MaxCost, Window: time.Hour, Durability: c.durability})
				if err != nil {
					t.Fatal(err)
				}
				charges = append(charges, Charge{Policy: policy, Key: []byte("k"), Cost: 1})
			}
			verdicts := make([]Verdict, c.charges)
			var tickets Tickets
			got := testing.AllocsPerRun(2000, func() {
				if _, err := p.Count(charges, verdicts, &tickets); err != nil {
					t.Fatal(err)
				}
				if err := tickets.Wait(); err != nil {
					t.Fatal(err)
				}
				tickets.Reset()
			})
			if got > c.most {
				t.Errorf("%v allocations", got)
			}
		})
	}
}
