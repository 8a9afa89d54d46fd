package wasm

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// waitersPerInstance bounds the requests that wait for an instance, for each one that there may be: more
// than it can serve within a usual time limit.
const waitersPerInstance = 1024

var (
	errBusy   = errors.New("no instance was free in time")
	errFull   = errors.New("too many requests wait for an instance")
	errClosed = errors.New("the version is closed")
)

// instances are the instances of one version: at most max. Idle ones are handed out last in, first out, so
// that few are warm under little load. Further ones are made, off the requests' goroutines, when a request
// finds none idle; requests wait for one in the order in which they came.
type instances struct {
	max  int
	grow func() (*instance, error) // makes an instance, and lists it with add before it runs guest code

	mu struct {
		sync.Mutex
		all    []*instance // in use, idle or being made: what the watchdog looks at
		idle   []*instance
		queue  queue
		open   int // instances that exist or are being made
		making int
		inUse  int
		keep   int           // most idle ones
		closed chan struct{} // made by close; closed when no instance is left
	}
}

func newInstances(most int, grow func() (*instance, error)) *instances {
	p := &instances{max: most, grow: grow}
	p.mu.keep = most
	return p
}

// take hands out an instance, at the latest after patience. Every instance is given back by put.
func (p *instances) take(patience time.Duration) (*instance, Cause, error) {
	p.mu.Lock()
	if p.mu.closed != nil {
		p.mu.Unlock()
		return nil, CauseClosed, errClosed
	}
	if n := len(p.mu.idle); n > 0 {
		in := p.mu.idle[n-1]
		p.mu.idle = p.mu.idle[:n-1]
		p.mu.inUse++
		p.mu.Unlock()
		return in, CauseNone, nil
	}
	if p.mu.queue.len == p.max*waitersPerInstance {
		p.mu.Unlock()
		return nil, CauseBusy, errFull
	}
	w := p.mu.queue.push(patience)
	p.growForQueue()
	p.mu.Unlock()

	var got grant
	select {
	case got = <-w.ready:
		p.mu.Lock()
	case <-w.timer.C:
		p.mu.Lock()
		if p.mu.queue.drop(w) {
			got = grant{cause: CauseBusy, err: errBusy}
		} else {
			got = <-w.ready // it was granted at the last moment
		}
	}
	p.mu.queue.recycle(w)
	p.mu.Unlock()
	return got.in, got.cause, got.err
}

// put takes an instance back. One that is spent is closed and never handed out again.
func (p *instances) put(in *instance, spent bool) {
	p.mu.Lock()
	p.mu.inUse--
	p.settle(in, spent)
}

// open makes one instance on the caller's goroutine.
func (p *instances) open() error {
	p.mu.Lock()
	p.mu.open++
	p.mu.making++
	p.mu.Unlock()
	return p.make()
}

// growForQueue starts as many instances as requests wait for, up to max. The lock is held.
func (p *instances) growForQueue() {
	for p.mu.making < p.mu.queue.len && p.mu.open < p.max && p.mu.closed == nil {
		p.mu.open++
		p.mu.making++
		// stops when the instance is made, which the engine's start limit bounds; close waits for it
		go p.make()
	}
}

func (p *instances) make() error {
	in, err := p.grow()
	p.mu.Lock()
	p.mu.making--
	if err == nil {
		p.settle(in, false)
		return nil
	}
	p.mu.open--
	if w := p.mu.queue.pop(); w != nil {
		w.ready <- grant{cause: CauseStart, err: err}
	}
	p.growForQueue()
	p.finish()
	p.mu.Unlock()
	return err
}

// settle hands an instance that is not in use to the next request, keeps it or closes it. The lock is held
// and released here, so that closing does not hold it.
func (p *instances) settle(in *instance, spent bool) {
	if w := p.mu.queue.first; w != nil && !spent {
		p.mu.queue.pop()
		p.mu.inUse++
		w.ready <- grant{in: in}
		p.mu.Unlock()
		return
	}
	if !spent && p.mu.closed == nil && len(p.mu.idle) < p.mu.keep {
		p.mu.idle = append(p.mu.idle, in)
		p.mu.Unlock()
		return
	}
	p.forget(in)
	p.mu.Unlock()
	in.close()
	p.mu.Lock()
	p.mu.open--
	p.growForQueue()
	p.finish()
	p.mu.Unlock()
}

// add lists an instance that is being made.
func (p *instances) add(in *instance) {
	p.mu.Lock()
	p.mu.all = append(p.mu.all, in)
	p.mu.Unlock()
}

// abandon takes it off the list again.
func (p *instances) abandon(in *instance) {
	p.mu.Lock()
	p.forget(in)
	p.mu.Unlock()
	in.close()
}

func (p *instances) forget(in *instance) {
	p.mu.all = slices.DeleteFunc(p.mu.all, func(other *instance) bool { return other == in })
}

// retire keeps at most one idle instance from now on.
func (p *instances) retire() {
	p.mu.Lock()
	p.mu.keep = 1
	surplus := slices.Clone(p.mu.idle[min(1, len(p.mu.idle)):])
	p.mu.idle = p.mu.idle[:len(p.mu.idle)-len(surplus)]
	p.mu.inUse += len(surplus)
	p.mu.Unlock()
	for _, in := range surplus {
		p.put(in, true)
	}
}

// close refuses waiting and new requests, waits for calls in progress and closes every instance.
func (p *instances) close() {
	p.mu.Lock()
	if p.mu.closed != nil {
		p.mu.Unlock()
		<-p.mu.closed
		return
	}
	p.mu.closed = make(chan struct{})
	for w := p.mu.queue.pop(); w != nil; w = p.mu.queue.pop() {
		w.ready <- grant{cause: CauseClosed, err: errClosed}
	}
	idle := p.mu.idle
	p.mu.idle = nil
	p.mu.inUse += len(idle)
	if len(idle) == 0 {
		p.finish()
	}
	p.mu.Unlock()
	for _, in := range idle {
		p.put(in, true)
	}
	<-p.mu.closed
}

// finish tells close when there is nothing left to wait for. The lock is held.
func (p *instances) finish() {
	if p.mu.closed != nil && p.mu.open == 0 {
		close(p.mu.closed)
	}
}

// each calls f for every instance that exists. f does not block.
func (p *instances) each(f func(*instance)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.mu.all {
		f(in)
	}
}

// Stats are the instances of a version at one moment.
type Stats struct {
	InUse   int
	Idle    int
	Waiting int // requests that wait for one
	Bound   int // most instances there may be
}

func (p *instances) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{InUse: p.mu.inUse, Idle: len(p.mu.idle), Waiting: p.mu.queue.len, Bound: p.max}
}
