package wasm

import (
	"bytes"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/token"
)

// Version is one module with one configuration of a filter, loaded and ready. Any number of exchanges call
// it at once; it runs each call in an instance that is free, within the filter's limits of time and memory.
type Version struct {
	engine     *Engine
	filter, id string
	config     []byte
	timeout    time.Duration
	fuel       int64 // units, of each call
	decider    Decider
	epoch      time.Time

	memoryLimit, memoryLeast uint64 // bytes

	module                  *module
	hasRequest, hasResponse bool
	// declared is written by the first instance, before there is a second.
	declared *declarations
	// keyDir and verifiers belong to the first instance until there is a second, then to Close.
	keyDir    string
	verifiers []*token.Verifier

	instances *instances
	watchdog  *watchdog
	voice     voice

	closing  sync.Once
	closeErr error
}

// newVersion starts the watchdog; close stops it.
func newVersion(e *Engine, s Spec, compiled *module) *Version {
	id := identify(s.Source, s.Config)
	exports := compiled.ExportedFunctions()
	v := &Version{
		engine:      e,
		filter:      s.Filter,
		id:          id,
		config:      bytes.Clone(s.Config),
		timeout:     s.Timeout,
		fuel:        s.Fuel,
		decider:     s.Decider,
		keyDir:      s.KeyDir,
		memoryLimit: uint64(s.Memory) / pageSize * pageSize,
		memoryLeast: uint64(compiled.ExportedMemories()[abi.ExportMemory].Min()) * pageSize,
		module:      compiled,
		hasRequest:  exports[abi.ExportRequest] != nil,
		hasResponse: exports[abi.ExportResponse] != nil,
		epoch:       time.Now(),
		voice: voice{
			log: e.log.With(slog.String("filter", s.Filter), slog.String("version", id)),
			now: time.Now,
		},
	}
	v.watchdog = newWatchdog(v.now)
	v.instances = newInstances(s.Instances, v.grow)
	// stops when Close closes the watchdog, after the last instance
	go v.watchdog.run(v.markOverruns)
	return v
}

// now is the time since the version was made, by a clock that nobody sets; never 0.
func (v *Version) now() int64 { return int64(time.Since(v.epoch)) + 1 }

// ID is the version: 12 hex digits over module and configuration.
func (v *Version) ID() string { return v.id }

// Needs are what the filter asked for while it was configured.
func (v *Version) Needs() []Need { return slices.Clone(v.declared.needs) }

// HasRequest says whether the module exports porch_request.
func (v *Version) HasRequest() bool { return v.hasRequest }

// HasResponse says whether the module exports porch_response.
func (v *Version) HasResponse() bool { return v.hasResponse }

// Stats are the instances of the version just now.
func (v *Version) Stats() Stats { return v.instances.stats() }

// Request runs porch_request for the filter at a place of x, and fills x.Places[place]. After an error,
// which is a *Failure, the place holds nothing that the filter recorded.
func (v *Version) Request(x *exchange.Exchange, place int) error {
	if !v.hasRequest {
		return nil
	}
	turn := &x.Places[place]
	failure := v.call(phaseRequest, x, place)
	if failure != nil {
		turn.Ops, turn.Body, turn.Status = turn.Ops[:0], nil, 0
		return failure
	}
	if turn.Status == 0 {
		turn.Body = nil
	}
	return nil
}

// Response runs porch_response on x.Response. An error is a *Failure.
func (v *Version) Response(x *exchange.Exchange, place int) error {
	if !v.hasResponse {
		return nil
	}
	if failure := v.call(phaseResponse, x, place); failure != nil {
		return failure
	}
	return nil
}

// Retire says that the version takes no new exchanges: it keeps at most one idle instance for those that
// have begun.
func (v *Version) Retire() { v.instances.retire() }

// Close refuses further calls, waits for those in progress and frees everything. It may be called again.
func (v *Version) Close() error {
	v.closing.Do(func() {
		v.instances.close()
		v.watchdog.close()
		for _, t := range v.verifiers {
			t.Close()
		}
		v.closeErr = v.engine.modules.release(v.module)
	})
	return v.closeErr
}

func (v *Version) call(p phase, x *exchange.Exchange, place int) *Failure {
	in, cause, err := v.instances.take(v.timeout)
	var took time.Duration
	var used int64
	if cause == CauseNone {
		took, used, cause, err = in.call(in.export(p), p, x, place)
		spent := cause != CauseNone && cause != CauseCode
		v.instances.put(in, spent)
		if spent {
			v.voice.trapped(cause, err)
		}
	}
	if v.engine.observer != nil {
		v.engine.observer.Called(Call{
			Filter: v.filter, Version: v.id, Phase: p.String(), Took: took, Fuel: used, Budget: v.fuel, Cause: cause,
		})
	}
	if cause == CauseNone {
		return nil
	}
	return &Failure{Filter: v.filter, Version: v.id, Cause: cause, Err: err}
}

func (in *instance) export(p phase) api.Function {
	if p == phaseResponse {
		return in.response
	}
	return in.request
}

// markOverruns is the watchdog's check: it marks the guests whose time is up and says when the next one's
// may be. That is never later than the time limit from now, since a call that begins next ends by then.
func (v *Version) markOverruns(now int64) (next int64) {
	v.instances.each(func(in *instance) {
		due := in.watch.check(now)
		switch {
		case due != 0 && next == 0:
			next = min(due, now+int64(v.timeout))
		case due != 0:
			next = min(due, next)
		}
	})
	return next
}
