package wasm

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/wasmtests/kit"
)

// counting is a filter that charges its one limit and does nothing with the answer.
func counting() []byte {
	m := new(kit.Module)
	policy, count := m.Import(abi.FuncPolicy), m.Import(abi.FuncCount)
	charge := make([]byte, abi.ChargeSize)
	abi.Charge{KeyAddr: dataAt, KeyLen: 1, Cost: 1}.Put(charge)
	m.Export(abi.ExportConfigure, m.Function(kit.Result, 0,
		kit.Call(policy, kit.Const(int32(abi.KindLimit)), kit.Const(dataAt), kit.Const(1), kit.Const(dataAt+1), kit.Const(int32(len(limitJSON))))))
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0,
		kit.Call(count, kit.Const(bufferAt), kit.Const(1), kit.Const(bufferAt+abi.ChargeSize)), kit.Drop(), kit.Const(0)))
	m.Memory(1)
	m.Data(dataAt, "p"+limitJSON)
	m.Data(bufferAt, string(charge))
	return m.Bytes()
}

// gate is a decider whose counts wait until they are let go.
type gate struct {
	decider
	waiting chan struct{} // one for each count that waits
	letGo   chan struct{}
}

func newGate() *gate {
	g := &gate{waiting: make(chan struct{}), letGo: make(chan struct{})}
	g.count = func([]pool.Charge, []pool.Verdict) (bool, error) {
		g.waiting <- struct{}{}
		<-g.letGo
		return true, nil
	}
	return g
}

// inBubble runs a test under fake time. What the guests wait for is made inside.
func inBubble(t *testing.T, f func(t *testing.T, e *Engine)) {
	e, _ := newTestEngine(t)
	synctest.Test(t, func(t *testing.T) { f(t, e) })
}

// Time in host functions is not the guest's.
func TestDecisionsDoNotCountAsGuestTime(t *testing.T) {
	s := specOf(counting())
	s.Timeout = 50 * time.Millisecond
	s.Decider = &decider{count: func([]pool.Charge, []pool.Verdict) (bool, error) {
		time.Sleep(time.Hour)
		return true, nil
	}}
	inBubble(t, func(t *testing.T, e *Engine) {
		v := load(t, e, s)
		if err := v.Request(newExchange(), 0); err != nil {
			t.Error(err)
		}
	})
}

func TestSleepCountsAsGuestTime(t *testing.T) {
	s := specOf(filter("", func(m *kit.Module) []kit.Code {
		poll := m.ImportAs("wasi_snapshot_preview1", "poll_oneoff",
			kit.Signature{Params: []kit.Type{kit.I32, kit.I32, kit.I32, kit.I32}, Results: []kit.Type{kit.I32}})
		// One subscription to the monotonic clock, an hour from now.
		m.Data(bufferAt+16, "\x01")
		m.Data(bufferAt+24, "\x00\xa0\xb8\x30\x46\x03\x00\x00")
		return []kit.Code{
			kit.Call(poll, kit.Const(bufferAt), kit.Const(bufferAt+64), kit.Const(1), kit.Const(bufferAt+128)), kit.Drop(),
			kit.Loop(kit.Const(1)),
		}
	}))
	s.Timeout = 50 * time.Millisecond
	inBubble(t, func(t *testing.T, e *Engine) {
		v := load(t, e, s)
		began := time.Now()
		wantCause(t, v.Request(newExchange(), 0), CauseTimeout)
		if took := time.Since(began); took != s.Timeout {
			t.Errorf("stopped after %v of fake time", took)
		}
	})
}

func TestRequestsWaitForAnInstanceAtMostTheTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine) {
		g := newGate()
		s := specOf(counting())
		s.Instances, s.Timeout, s.Decider = 1, 50*time.Millisecond, g
		v := load(t, e, s)
		first := make(chan error)
		// stops when the gate lets its count go
		go func() { first <- v.Request(newExchange(), 0) }()
		<-g.waiting
		began := time.Now()
		wantCause(t, v.Request(newExchange(), 0), CauseBusy)
		if took := time.Since(began); took != s.Timeout {
			t.Errorf("waited %v", took)
		}
		if got, want := v.Stats(), (Stats{InUse: 1, Bound: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		close(g.letGo)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitersAreServedInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine) {
		g := newGate()
		s := specOf(counting())
		s.Instances, s.Decider = 1, g
		v := load(t, e, s)
		const n = 4
		served := make(chan int, n)
		for i := range n {
			// stops when its request is served
			go func() {
				if err := v.Request(newExchange(), 0); err != nil {
					t.Error(err)
				}
				served <- i
			}()
			if i == 0 {
				<-g.waiting
			}
			synctest.Wait()
		}
		if got := v.Stats().Waiting; got != n-1 {
			t.Errorf("%d wait", got)
		}
		for i := range n {
			g.letGo <- struct{}{}
			if got := <-served; got != i {
				t.Errorf("request %d was served at place %d", got, i)
			}
			if i < n-1 {
				<-g.waiting
			}
		}
	})
}

func TestCloseWaitsForCallsAndRefusesOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine) {
		g := newGate()
		s := specOf(counting())
		s.Instances, s.Decider = 1, g
		v := load(t, e, s)
		running, waiting, closed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		// stops when the gate lets its count go
		go func() { running <- v.Request(newExchange(), 0) }()
		<-g.waiting
		// stops when the version is closed
		go func() { waiting <- v.Request(newExchange(), 0) }()
		synctest.Wait()
		// stops when the first request has ended
		go func() { closed <- v.Close() }()
		synctest.Wait()
		wantCause(t, <-waiting, CauseClosed)
		wantCause(t, v.Request(newExchange(), 0), CauseClosed)
		select {
		case <-closed:
			t.Error("closed while a call was in progress")
		default:
		}
		close(g.letGo)
		if err := errors.Join(<-running, <-closed); err != nil {
			t.Error(err)
		}
	})
}

func TestRetiredVersionsKeepOneIdleInstance(t *testing.T) {
	e, _ := newTestEngine(t)
	v := load(t, e, specOf(counting()))
	if got := v.Stats().Idle; got != 2 {
		t.Fatalf("%d idle at first", got)
	}
	v.Retire()
	if got := v.Stats().Idle; got != 1 {
		t.Errorf("%d idle", got)
	}
	if err := v.Request(newExchange(), 0); err != nil {
		t.Error(err)
	}
	if got := v.Stats().Idle; got != 1 {
		t.Errorf("%d idle after a call", got)
	}
}

func TestMoreInstancesAreMadeUpToTheBound(t *testing.T) {
	g := newGate()
	s := specOf(counting())
	s.Instances, s.Decider = 8, g
	e, _ := newTestEngine(t)
	v := load(t, e, s)
	var done sync.WaitGroup
	for range 12 {
		done.Add(1)
		// stops when the gate lets its count go
		go func() {
			defer done.Done()
			if err := v.Request(newExchange(), 0); err != nil {
				t.Error(err)
			}
		}()
	}
	for range 8 {
		<-g.waiting
	}
	if got := v.Stats(); got.InUse != 8 {
		t.Errorf("got %+v", got)
	}
	for range 4 {
		g.letGo <- struct{}{}
		<-g.waiting
	}
	close(g.letGo)
	done.Wait()
	if got := v.Stats(); got.InUse != 0 || got.Idle > 8 {
		t.Errorf("got %+v", got)
	}
}

// Versions are loaded, called, stopped by the watchdog and closed all at once.
func TestHammerLoadCallClose(t *testing.T) {
	e, _ := newTestEngine(t)
	var calls, closed atomic.Int64
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Add(1)
		// stops when it has done its rounds
		go func() {
			defer workers.Done()
			for round := range 10 {
				s := specOf(whenAsked(misdeeds[(w+round)%len(misdeeds)].code))
				s.Timeout = 20 * time.Millisecond
				v, err := e.Load(context.Background(), s)
				if err != nil {
					t.Error(err)
					return
				}
				var callers sync.WaitGroup
				for c := range 4 {
					callers.Add(1)
					// stops when it has made its calls
					go func() {
						defer callers.Done()
						for i := range 20 {
							x := newExchange()
							if c == 0 && i%8 == 0 {
								x = bad()
							}
							err := v.Request(x, 0)
							calls.Add(1)
							if causeOf(t, err) == CauseClosed {
								closed.Add(1)
							}
						}
					}()
				}
				if rand.IntN(2) == 0 {
					callers.Wait()
				}
				if err := v.Close(); err != nil {
					t.Error(err)
				}
				callers.Wait()
				if got := v.Stats(); got != (Stats{Bound: s.Instances}) {
					t.Errorf("after Close: %+v", got)
				}
			}
		}()
	}
	workers.Wait()
	t.Logf("%d calls, %d of them on closed versions", calls.Load(), closed.Load())
}

// A request that waits gets a fresh instance, not the one that has just trapped.
func TestWaitersNeverGetASpentInstance(t *testing.T) {
	m := new(kit.Module)
	count, get, calls := m.Import(abi.FuncCount), m.Import(abi.FuncGet), m.Global(0)
	policy := m.Import(abi.FuncPolicy)
	charge := make([]byte, abi.ChargeSize)
	abi.Charge{KeyAddr: dataAt, KeyLen: 1, Cost: 1}.Put(charge)
	asked := kit.Equal(kit.Const(0), kit.Call(get, kit.Const(int32(abi.FieldRequestHeader)), kit.Const(512), kit.Const(5), kit.Const(0), kit.Const(0)))
	m.Export(abi.ExportConfigure, m.Function(kit.Result, 0,
		kit.Call(policy, kit.Const(int32(abi.KindLimit)), kit.Const(dataAt), kit.Const(1), kit.Const(dataAt+1), kit.Const(int32(len(limitJSON))))))
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0,
		kit.SetGlobal(calls, kit.Add(kit.GetGlobal(calls), kit.Const(1))),
		kit.Call(count, kit.Const(bufferAt), kit.Const(1), kit.Const(bufferAt+abi.ChargeSize)), kit.Drop(),
		kit.If(asked, kit.Unreachable()),
		kit.Add(kit.GetGlobal(calls), kit.Const(-1)))) // 0 in an instance's first call
	m.Memory(1)
	m.Data(dataAt, "p"+limitJSON)
	m.Data(512, "X-Bad")
	m.Data(bufferAt, string(charge))
	inBubble(t, func(t *testing.T, e *Engine) {
		g := newGate()
		s := specOf(m.Bytes())
		s.Instances, s.Decider = 1, g
		v := load(t, e, s)
		first, second := make(chan error, 1), make(chan error, 1)
		// stops when the gate lets its count go
		go func() { first <- v.Request(bad(), 0) }()
		<-g.waiting
		// stops when the gate lets its count go
		go func() { second <- v.Request(newExchange(), 0) }()
		synctest.Wait()
		g.letGo <- struct{}{}
		wantCause(t, <-first, CauseTrap)
		<-g.waiting
		close(g.letGo)
		wantCause(t, <-second, CauseNone)
	})
}
