package wasm

import (
	"errors"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
)

// What the pool cannot decide reaches the guest as a condition, and the chain as the worst one met.
func TestUndecidedCounts(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want abi.Condition
	}{
		{"invalid is the guest's to act on", pool.ErrInvalid, 0},
		{"saturated", pool.ErrSaturated, abi.Saturated},
		{"capacity", pool.ErrCapacity, abi.Capacity},
		{"unavailable", pool.ErrUnavailable, abi.Unavailable},
		{"closed", pool.ErrClosed, abi.Unavailable},
		{"anything else", errors.New("odd"), abi.Unavailable},
	}
	e, _ := newTestEngine(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := specOf(counting())
			s.Decider = &decider{count: func([]pool.Charge, []pool.Verdict) (bool, error) { return false, test.err }}
			v, x := load(t, e, s), newExchange()
			if err := v.Request(x, 0); err != nil {
				t.Fatal(err)
			}
			if got := abi.Condition(x.Places[0].Condition); got != test.want {
				t.Errorf("condition %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheWorstConditionStays(t *testing.T) {
	order := []abi.Condition{0, abi.Saturated, abi.Capacity, abi.Unavailable}
	for i, c := range order[1:] {
		if severity(c) <= severity(order[i]) {
			t.Errorf("%d is no worse than %d", c, order[i])
		}
	}
}

func TestMillisecondsRoundUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v is %d, want %d", d, got, want)
		}
	}
}
