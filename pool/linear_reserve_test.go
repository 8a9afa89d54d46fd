package pool

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// reserveInput is a reservation, or its release, whose number is id.
type reserveInput struct {
	release bool
	key     int
	id      int64
	call    int64
}

type reserveOutput struct {
	reserved bool
	back     int64 // when the answer was there
}

// holder is who holds a key, and between which two moments that began. The zero value is nobody.
type holder struct{ id, call, back int64 }

// linearTTL passes within a life of the store; the other runs have one that does not.
const linearTTL = 3 * time.Millisecond

// step is what a guard is: a key has one holder until its time has passed or the holder itself releases it.
// When the time began is known only as the span from call to answer, so some steps can go two ways.
func (s holder) step(in reserveInput, output any, ttl time.Duration) []any {
	if in.release {
		if s.id == in.id {
			return []any{holder{}}
		}
		return []any{s}
	}
	back := int64(math.MaxInt64)
	out, known := output.(reserveOutput)
	if known {
		back = out.back
	}
	var next []any
	over := s.id == 0 || back-s.call >= int64(ttl)
	lives := s.id != 0 && (s.back == math.MaxInt64 || in.call-s.back <= int64(ttl))
	if over && (!known || out.reserved) {
		next = append(next, holder{id: in.id, call: in.call, back: back})
	}
	if lives && !(known && out.reserved) || !known {
		next = append(next, s)
	}
	return next
}

func TestReservationsAreLinearizable(t *testing.T) {
	seeds(t, 8, func(t *testing.T, seed uint64) {
		ttl := linearTTL
		if seed%2 == 0 {
			ttl = time.Hour
		}
		h := &history{began: time.Now(), most: 60}
		var ids atomic.Int64
		h.live(t, rand.New(rand.NewPCG(seed, 2)), func(p *Pool, client int, rng *rand.Rand) {
			policy := guard(t, p, "g", ttl)
			for range 10 {
				if !h.reserve(p, policy, client, ids.Add(1), rng) {
					return
				}
			}
		}, func(int64) {})
		h.check(t, seed, guardModel(ttl))
	})
}

func guardModel(ttl time.Duration) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
			return partition(ops, func(in any) int { return in.(reserveInput).key })
		},
		Init: func() []any { return []any{holder{}} },
		Step: func(state, input, output any) []any { return state.(holder).step(input.(reserveInput), output, ttl) },
	}
	return model.ToModel()
}

// reserve reserves a key once, and sometimes releases it, also when its time may have passed. It is false if
// an answer is not known.
func (h *history) reserve(p *Pool, policy *Policy, client int, id int64, rng *rand.Rand) bool {
	in := reserveInput{key: rng.IntN(linearKeys), id: id, call: h.now()}
	var r Reservation
	var reserved bool
	if !h.ask(client, in, func() any {
		var tickets Tickets
		var err error
		r, reserved, err = p.Reserve(policy, keyName(in.key), &tickets)
		if err != nil || tickets.Wait() != nil {
			return nil
		}
		return reserveOutput{reserved, h.now()}
	}) {
		return false
	}
	if !reserved || rng.IntN(2) == 0 {
		return true
	}
	if rng.IntN(3) == 0 {
		time.Sleep(linearTTL)
	}
	in.release, in.call = true, h.now()
	// It returns before the shard has heard of it.
	op := porcupine.Operation{ClientId: client, Input: in, Output: true, Call: in.call, Return: math.MaxInt64}
	r.Release()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	return true
}
