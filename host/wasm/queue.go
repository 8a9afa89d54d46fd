package wasm

import "time"

// waiter is a request that waits for an instance.
type waiter struct {
	ready          chan grant // holds one, so whoever grants never waits
	timer          *time.Timer
	before, behind *waiter
	queued         bool
}

// grant is what a waiter gets: an instance, or why there is none.
type grant struct {
	in    *instance
	cause Cause
	err   error
}

// queue is the requests that wait, first in, first out. It keeps spent waiters for the next requests. The
// lock of its instances guards it.
type queue struct {
	first, last *waiter
	len         int
	free        *waiter
}

// push adds a waiter whose timer runs out after patience.
func (q *queue) push(patience time.Duration) *waiter {
	w := q.free
	if w == nil {
		w = &waiter{ready: make(chan grant, 1), timer: time.NewTimer(patience)}
	} else {
		q.free, w.behind = w.behind, nil
		w.timer.Reset(patience)
	}
	w.queued, w.before = true, q.last
	if q.last == nil {
		q.first = w
	} else {
		q.last.behind = w
	}
	q.last = w
	q.len++
	return w
}

// pop takes the first waiter; nil if there is none.
func (q *queue) pop() *waiter {
	w := q.first
	if w != nil {
		q.drop(w)
	}
	return w
}

// drop takes w out and says whether it was still waiting.
func (q *queue) drop(w *waiter) bool {
	if !w.queued {
		return false
	}
	if w.before == nil {
		q.first = w.behind
	} else {
		w.before.behind = w.behind
	}
	if w.behind == nil {
		q.last = w.before
	} else {
		w.behind.before = w.before
	}
	w.before, w.behind, w.queued = nil, nil, false
	q.len--
	return true
}

// recycle keeps a waiter that nobody refers to any more.
func (q *queue) recycle(w *waiter) {
	w.timer.Stop()
	w.behind, q.free = q.free, w
}
