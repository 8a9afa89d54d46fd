package pool

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// beginInput is a step of one claim, whose number is id.
type beginInput struct {
	what   string // begin, wait, start, complete, forget, release, abandon, crash
	key    int
	id     int64
	digest byte
}

type beginOutput struct {
	state  State
	record string
}

// keyState is a key as the model sees it. Waiters are numbers behind each other, each between commas.
type keyState struct {
	record       string // stored; empty if nothing is
	started      bool   // stored in its place
	storedDigest byte
	owner        int64 // of the flight; 0 if none
	digest       byte  // of the flight
	waiters      string
}

func (s *keyState) leave(id int64) {
	mark := fmt.Sprintf("%d,", id)
	if s.owner != id {
		s.waiters = strings.Replace(s.waiters, mark, "", 1)
		return
	}
	s.owner = 0
	if next, rest, ok := strings.Cut(s.waiters, ","); ok {
		fmt.Sscan(next, &s.owner)
		s.waiters = rest
	}
}

// step is what a flight is: one owner, waiters in a line, another digest told at once, and a response that
// stays.
func (s keyState) step(in beginInput, output any) (bool, keyState) {
	var want beginOutput
	switch in.what {
	case "begin":
		switch {
		case s.owner != 0 && s.digest != in.digest, s.owner == 0 && (s.started || s.record != "") && s.storedDigest != in.digest:
			want.state = Mismatch
		case s.owner != 0:
			want.state = Joined
			s.waiters += fmt.Sprintf("%d,", in.id)
		case s.started:
			want.state = Unknown
		case s.record != "":
			want = beginOutput{Replay, s.record}
		default:
			want.state = Execute
			s.owner, s.digest = in.id, in.digest
		}
	case "wait":
		switch {
		case s.owner == in.id:
			want.state = Execute
		case s.started:
			want.state = Unknown
		default:
			want = beginOutput{Replay, s.record}
		}
		if output != nil && want.state == Replay && s.record == "" {
			return false, s
		}
	case "start":
		if s.owner == in.id {
			s.started, s.storedDigest = true, s.digest
		} else if output != nil {
			return false, s
		}
		return true, s
	case "forget":
		if s.owner == in.id {
			s.started = false
		}
		s.leave(in.id)
		return true, s
	case "abandon":
		if s.owner == in.id {
			s.owner, s.waiters = 0, ""
		}
		return true, s
	case "complete":
		if s.owner == in.id {
			s = keyState{record: fmt.Sprint(in.id), storedDigest: s.digest}
		} else if output != nil {
			return false, s
		}
		return true, s
	case "release":
		s.leave(in.id)
		return true, s
	case "crash":
		s.owner, s.waiters = 0, ""
		return true, s
	}
	return output == nil || output == want, s
}

func TestFlightsAreLinearizable(t *testing.T) {
	model := porcupine.Model{
		Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
			return partition(ops, func(in any) int { return in.(beginInput).key })
		},
		Init: func() any { return keyState{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(keyState).step(input.(beginInput), output)
		},
	}
	seeds(t, 8, func(t *testing.T, seed uint64) {
		h := &history{began: time.Now(), most: 40}
		var ids atomic.Int64
		h.live(t, rand.New(rand.NewPCG(seed, 0)), func(p *Pool, client int, rng *rand.Rand) {
			policy := once(t, p, "once", OnceSpec{MaxWait: time.Hour, MaxWaiters: 100, RefuseUnknown: seed%2 == 0})
			for range 6 {
				r := &runner{h: h, p: p, policy: policy, client: client}
				in := beginInput{key: rng.IntN(linearKeys), id: ids.Add(1), digest: byte(rng.IntN(8) / 7)}
				if !r.run(in, endings[rng.IntN(len(endings))]) {
					return
				}
			}
		}, func(now int64) {
			for i := range linearKeys {
				h.ops = append(h.ops, porcupine.Operation{ClientId: 1000, Input: beginInput{what: "crash", key: i}, Output: true, Call: now, Return: now})
			}
		})
		h.check(t, seed, model)
	})
}

var endings = []string{"complete", "release", "forget"}

// runner is a caller of one claim.
type runner struct {
	h      *history
	p      *Pool
	policy *Policy
	client int
}

// run takes one claim from its begin to its end; it is false if an answer is not known.
func (r *runner) run(in beginInput, ending string) bool {
	var claim *Claim
	var tickets Tickets
	answer := func(err error) any {
		if err != nil || tickets.Wait() != nil {
			return nil
		}
		record, _ := claim.Stored()
		return beginOutput{claim.State(), string(record)}
	}
	in.what = "begin"
	if !r.h.ask(r.client, in, func() any {
		var err error
		claim, err = r.p.Begin(r.policy, keyName(in.key), [32]byte{in.digest}, &tickets)
		return answer(err)
	}) {
		return false
	}
	if claim.State() == Joined {
		in.what = "wait"
		if !r.h.ask(r.client, in, func() any {
			_, err := claim.Wait(context.Background(), &tickets)
			return answer(err)
		}) {
			return false
		}
	}
	if claim.State() != Execute {
		return true
	}
	if r.policy.refuses {
		in.what = "start"
		if !r.h.ask(r.client, in, func() any { return answer(claim.Start(&tickets)) }) {
			return false
		}
	}
	switch ending {
	case "forget":
		in.what = "forget"
		return r.h.ask(r.client, in, func() any { return answer(claim.Forget(&tickets)) })
	case "release":
		in.what = "release"
		if r.policy.refuses {
			in.what = "abandon"
		}
		// It returns before the shard has heard of it.
		op := porcupine.Operation{ClientId: r.client, Input: in, Output: true, Call: r.h.now(), Return: math.MaxInt64}
		claim.Release()
		r.h.mu.Lock()
		defer r.h.mu.Unlock()
		r.h.ops = append(r.h.ops, op)
		return true
	}
	in.what = "complete"
	return r.h.ask(r.client, in, func() any { return answer(claim.Complete(fmt.Append(nil, in.id), &tickets)) })
}
