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
//	overrun     the watchdog has stopped the call
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

// end ends the call and says whether the watchdog had stopped it.
func (w *watch) end() (stopped bool) { return w.state.Swap(0) == overrun }

// check stops the call if its time is up. due is when it has to be looked at again; 0 if no call runs.
func (w *watch) check(now int64) (due int64, stopped bool) {
	switch state := w.state.Load(); {
	case state == 0 || state == overrun:
		return 0, false
	case state < 0:
		return now - state, false
	case state > now:
		return state, false
	default:
		return now, w.state.CompareAndSwap(state, overrun)
	}
}

// watchdog stops guests of one version that run over their time. While none runs it sleeps without a
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

// run looks after calls until close. check stops what is over its time and returns when to look again;
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
