package wasm

import (
	"math"
	"sync/atomic"
	"time"
)

// watch is how much time a call has left. The goroutine that calls the instance starts, pauses and ends
// it; the watchdog of the version only ever takes it from running to overrun. It holds
//
//	0           no call is running
//	above 0     the guest runs; the number is when it must have ended
//	below 0     the guest waits for a host function; the number is minus the time it has left then
//	overrun     the time is up: the next host function ends the call
//
// all in nanoseconds since the version was made.
type watch struct {
	state atomic.Int64
}

const overrun = math.MinInt64

// start begins a call that must have ended at a time.
func (w *watch) start(until int64) { w.state.Store(until) }

// pause stops the clock while a host function runs.
func (w *watch) pause(now int64) {
	if until := w.state.Load(); until > 0 {
		w.state.CompareAndSwap(until, -max(until-now, 1))
	}
}

// resume lets it go on.
func (w *watch) resume(now int64) {
	if left := w.state.Load(); left < 0 && left != overrun {
		w.state.CompareAndSwap(left, now-left)
	}
}

// over says whether the time is up.
func (w *watch) over() bool { return w.state.Load() == overrun }

// left is how much time a call has that runs.
func (w *watch) left(now int64) int64 { return max(0, w.state.Load()-now) }

// end ends the call.
func (w *watch) end() { w.state.Store(0) }

// check marks the call if its time is up. due is when it has to be looked at again; 0 if it need not be.
func (w *watch) check(now int64) (due int64) {
	switch state := w.state.Load(); {
	case state == 0 || state == overrun:
		return 0
	case state < 0:
		return now - state
	case state > now:
		return state
	default:
		if w.state.CompareAndSwap(state, overrun) {
			return 0
		}
		return now
	}
}

// watchdog marks guests of one version that run over their time. What they compute is bounded by fuel; the mark
// bounds what they ask of the host. While none runs it sleeps without a
// timer, and the next call wakes it.
type watchdog struct {
	now    func() int64
	parked atomic.Bool
	wake   chan struct{} // holds one: a call has started
	stop   chan struct{} // closed by close
	done   chan struct{} // closed when run has returned
}

func newWatchdog(now func() int64) *watchdog {
	return &watchdog{now: now, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// started is told of each call, after its watch has started.
func (d *watchdog) started() {
	if d.parked.Load() && d.parked.CompareAndSwap(true, false) {
		d.wake <- struct{}{}
	}
}

// run looks after calls until close. check marks what is over its time and returns when to look again;
// 0 if no call runs.
func (d *watchdog) run(check func(now int64) int64) {
	defer close(d.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := d.now()
		due := check(now)
		if due == 0 {
			d.parked.Store(true)
			// A call that started before parked was set has not woken anybody.
			if due = check(now); due == 0 {
				select {
				case <-d.wake:
					continue
				case <-d.stop:
					return
				}
			}
			if !d.parked.CompareAndSwap(true, false) {
				<-d.wake
			}
		}
		timer.Reset(time.Duration(due - now))
		select {
		case <-timer.C:
		case <-d.stop:
			return
		}
	}
}

// close ends run and waits for it. No call is running any more.
func (d *watchdog) close() {
	close(d.stop)
	<-d.done
}
