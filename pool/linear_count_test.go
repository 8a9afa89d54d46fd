package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	linearKeys  = 2
	linearLimit = 12
)

type countInput struct {
	key  int
	cost int64
}

type countOutput struct {
	allowed bool
	used    int64
}

// Single charges: each key is a counter, and what is told is exact.
func TestChargesAreLinearizable(t *testing.T) {
	model := porcupine.Model{
		Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
			return partition(ops, func(in any) int { return in.(countInput).key })
		},
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			used, in := state.(int64), input.(countInput)
			allowed := used+in.cost <= linearLimit
			if allowed {
				used += in.cost
			}
			return output == nil || output == countOutput{allowed, used}, used
		},
	}
	seeds(t, 8, func(t *testing.T, seed uint64) {
		h := &history{began: time.Now(), most: 40}
		h.live(t, rand.New(rand.NewPCG(seed, 0)), func(p *Pool, client int, rng *rand.Rand) {
			policy := limit(t, p, "limit", linearLimit, time.Hour)
			for range 12 {
				in := countInput{key: rng.IntN(linearKeys), cost: 1 + rng.Int64N(2)}
				known := h.ask(client, in, func() any {
					var v [1]Verdict
					var tickets Tickets
					_, err := p.Count([]Charge{{Policy: policy, Key: keyName(in.key), Cost: in.cost}}, v[:], &tickets)
					if err != nil || tickets.Wait() != nil {
						return nil
					}
					return countOutput{v[0].Allowed, v[0].Used}
				})
				if !known {
					return
				}
			}
		}, func(int64) {})
		h.check(t, seed, model)
	})
}

type manyInput struct {
	costs [linearKeys]int64 // 0 for none
}

// Several charges in one call: all or none, among single ones. A crash may keep a part of a call that had
// no answer.
func TestSeveralChargesAreLinearizable(t *testing.T) {
	type counters [linearKeys]int64
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{counters{}} },
		Step: func(state, input, output any) []any {
			now, in := state.(counters), input.(manyInput)
			all := now
			fits := true
			for i, cost := range in.costs {
				all[i] += cost
				fits = fits && (cost == 0 || all[i] <= linearLimit)
			}
			switch output {
			case true:
				if fits {
					return []any{all}
				}
				return nil
			case false:
				if !fits {
					return []any{now}
				}
				return nil
			}
			next := []any{now}
			if !fits {
				return next
			}
			for part := 1; part < 1<<linearKeys; part++ {
				some := now
				for i := range some {
					if part&(1<<i) != 0 {
						some[i] = all[i]
					}
				}
				next = append(next, some)
			}
			return next
		},
		Equal: func(a, b any) bool { return a == b },
	}
	model := nondeterministic.ToModel()
	seeds(t, 8, func(t *testing.T, seed uint64) {
		h := &history{began: time.Now(), most: 30}
		h.live(t, rand.New(rand.NewPCG(seed, 0)), func(p *Pool, client int, rng *rand.Rand) {
			policy := limit(t, p, "limit", linearLimit, time.Hour)
			for range 8 {
				var in manyInput
				var charges []Charge
				first := rng.IntN(linearKeys)
				for i := range linearKeys {
					if i == first || rng.IntN(3) > 0 {
						in.costs[i] = 1 + rng.Int64N(3)
						charges = append(charges, Charge{Policy: policy, Key: keyName(i), Cost: in.costs[i]})
					}
				}
				known := h.ask(client, in, func() any {
					var tickets Tickets
					allowed, err := p.Count(charges, make([]Verdict, len(charges)), &tickets)
					if err != nil || tickets.Wait() != nil {
						return nil
					}
					return allowed
				})
				if !known {
					return
				}
			}
		}, func(int64) {})
		h.check(t, seed, model)
	})
}

func keyName(i int) []byte { return fmt.Appendf(nil, "key %d", i) }

func partition(ops []porcupine.Operation, of func(input any) int) [][]porcupine.Operation {
	var parts [linearKeys][]porcupine.Operation
	for _, op := range ops {
		i := of(op.Input)
		parts[i] = append(parts[i], op)
	}
	return parts[:]
}
