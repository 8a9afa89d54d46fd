package store

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFixedWindow(t *testing.T) {
	const minute = time.Minute
	running := Row{Start: 10, End: 10 + minute, Used: 7}
	for _, c := range []struct {
		name    string
		row     Row
		charge  Charge
		now     time.Duration
		want    Row
		verdict Verdict
	}{
		{"first charge begins the window", Row{}, Charge{Cost: 2, Limit: 10, Window: minute}, 5,
			Row{Start: 5, End: 5 + minute, Used: 2}, Verdict{Allowed: true, Used: 2, Limit: 10, Remaining: 8, ResetAfter: minute}},
		{"within the window it adds up", running, Charge{Cost: 2, Limit: 10, Window: minute}, 20,
			Row{Start: 10, End: 10 + minute, Used: 9}, Verdict{Allowed: true, Used: 9, Limit: 10, Remaining: 1, ResetAfter: minute - 10}},
		{"up to the limit", running, Charge{Cost: 3, Limit: 10, Window: minute}, 20,
			Row{Start: 10, End: 10 + minute, Used: 10}, Verdict{Allowed: true, Used: 10, Limit: 10, ResetAfter: minute - 10}},
		{"not beyond it", running, Charge{Cost: 4, Limit: 10, Window: minute}, 20,
			running, Verdict{Used: 7, Limit: 10, Remaining: 3, ResetAfter: minute - 10, RetryAfter: minute - 10}},
		{"a cost above the limit never fits", running, Charge{Cost: 11, Limit: 10, Window: minute}, 20,
			running, Verdict{Used: 7, Limit: 10, Remaining: 3, ResetAfter: minute - 10, RetryAfter: -1}},
		{"nor in a window that has not begun", Row{}, Charge{Cost: 11, Limit: 10, Window: minute}, 20,
			Row{}, Verdict{Limit: 10, Remaining: 10, RetryAfter: -1}},
		{"the last moment belongs to the window", running, Charge{Cost: 4, Limit: 10, Window: minute}, 9 + minute,
			running, Verdict{Used: 7, Limit: 10, Remaining: 3, ResetAfter: 1, RetryAfter: 1}},
		{"its end does not", running, Charge{Cost: 4, Limit: 10, Window: minute}, 10 + minute,
			Row{Start: 10 + minute, End: 10 + 2*minute, Used: 4}, Verdict{Allowed: true, Used: 4, Limit: 10, Remaining: 6, ResetAfter: minute}},
		{"a lower limit than what is used", running, Charge{Cost: 1, Limit: 5, Window: minute}, 20,
			running, Verdict{Used: 7, Limit: 5, ResetAfter: minute - 10, RetryAfter: minute - 10}},
		{"a new window length leaves the one that runs", running, Charge{Cost: 1, Limit: 10, Window: time.Hour}, 20,
			Row{Start: 10, End: 10 + minute, Used: 8}, Verdict{Allowed: true, Used: 8, Limit: 10, Remaining: 2, ResetAfter: minute - 10}},
		{"reserved room is taken though the limit was lowered", running, Charge{Cost: 5, Limit: 5, Window: minute, Reserved: true}, 20,
			Row{Start: 10, End: 10 + minute, Used: 12}, Verdict{Allowed: true, Used: 12, Limit: 5, ResetAfter: minute - 10}},
		{"the largest numbers", Row{End: math.MaxInt64, Used: 1 << 53}, Charge{Cost: 1 << 53, Limit: 1 << 53, Window: minute}, 20,
			Row{End: math.MaxInt64, Used: 1 << 53}, Verdict{Used: 1 << 53, Limit: 1 << 53, ResetAfter: math.MaxInt64 - 20, RetryAfter: math.MaxInt64 - 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			row, verdict := fixedWindow(c.row, c.charge, c.now)
			if row != c.want {
				t.Errorf("row is %+v, not %+v", row, c.want)
			}
			if verdict != c.verdict {
				t.Errorf("verdict is %+v, not %+v", verdict, c.verdict)
			}
		})
	}
}

// Against a list of what was charged when: no window ever holds more than the limit, what is refused would
// not have fitted, and what is promised about waiting is true.
func TestFixedWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.Int64Range(1, 100).Draw(t, "window"))
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		var row Row
		var now, began time.Duration
		var sum int64
		running := false
		for range rapid.IntRange(1, 60).Draw(t, "charges") {
			now += time.Duration(rapid.Int64Range(0, 40).Draw(t, "pause"))
			cost := rapid.Int64Range(1, 25).Draw(t, "cost")
			if running && now-began >= window {
				running, sum = false, 0
			}
			fits := sum+cost <= limit
			next, v := fixedWindow(row, Charge{Cost: cost, Limit: limit, Window: window}, now)
			if v.Allowed != fits {
				t.Fatalf("at %d: cost %d of limit %d with %d used: allowed is %v", now, cost, limit, sum, v.Allowed)
			}
			if fits {
				if !running {
					running, began = true, now
				}
				sum += cost
			} else if next != row {
				t.Fatalf("a refused charge changed the row from %+v to %+v", row, next)
			}
			if v.Used != sum || v.Remaining != limit-sum {
				t.Fatalf("used %d, remaining %d; %d of %d are used", v.Used, v.Remaining, sum, limit)
			}
			if running && v.ResetAfter != began+window-now {
				t.Fatalf("resets after %d, not %d", v.ResetAfter, began+window-now)
			}
			if !fits && v.RetryAfter >= 0 {
				if _, then := fixedWindow(row, Charge{Cost: cost, Limit: limit, Window: window}, now+v.RetryAfter); !then.Allowed {
					t.Fatalf("refused after waiting as told")
				}
				if _, early := fixedWindow(row, Charge{Cost: cost, Limit: limit, Window: window}, now+v.RetryAfter-1); early.Allowed {
					t.Fatalf("told to wait longer than needed")
				}
			}
			if !fits && (v.RetryAfter < 0) != (cost > limit) {
				t.Fatalf("cost %d of limit %d: wait %d", cost, limit, v.RetryAfter)
			}
			row = next
		}
	})
}
