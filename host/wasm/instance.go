package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm/fuel"
	"github.com/porchedge/porch/pool"
)

// Exports of a module beside those of the contract.
const (
	exportInitialize = "_initialize"
	exportStart      = "_start"
)

// instance is one running copy of a module. It is used by one goroutine at a time: the pool of instances
// hands it from one to the next. It is the context of its own calls, so a host function finds it at once.
// What it may compute in a call is bounded by its fuel, which it cannot reach; whether it is within its time is
// looked at whenever it asks the host for something.
type instance struct {
	context.Context
	version *Version
	watch   watch

	space             *guestMemory
	module            api.Module
	memory            api.Memory
	fuel              api.MutableGlobal
	request, response api.Function // nil if not exported
	stdout, stderr    lines
	first             bool // declares the version's policies to the pool

	// What the present call is about.
	phase     phase
	x         *exchange.Exchange
	place     int
	headerOps int
	declared  *declarations // while it is configured

	// When the call began, when the guest's clock was last stopped, how long it stood in all and how often.
	callBegan, pausedAt, hostTime int64
	pauses                        int

	// Scratch space of host functions, so that they need not allocate.
	stack    [1]uint64
	scratch  []byte
	keys     []byte
	charges  []pool.Charge
	verdicts [abi.MaxCharges]pool.Verdict
}

// newInstance reserves what an instance needs. start makes it usable; close is called in any case.
func newInstance(v *Version, first bool) (*instance, error) {
	space, err := newGuestMemory(v.memoryLimit, v.memoryLeast)
	if err != nil {
		return nil, err
	}
	in := &instance{version: v, space: space, first: first}
	allocator := experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return space })
	in.Context = experimental.WithMemoryAllocator(context.Background(), allocator)
	in.stdout = lines{in: in, level: slog.LevelInfo}
	in.stderr = lines{in: in, level: slog.LevelWarn}
	return in, nil
}

// start instantiates, initializes and configures the instance, within the engine's limit for that. It
// returns what the guest declared.
func (in *instance) start() (*declarations, error) {
	in.begun(phaseStart, in.version.engine.startLimit)
	declared, err := in.instantiate()
	if _, cause, err := in.ended(phaseStart, err); cause != CauseNone {
		in.version.voice.trapped(cause, err)
		return nil, fmt.Errorf("%w: %s while it is started: %w", ErrStart, cause, err)
	}
	return declared, nil
}

func (in *instance) instantiate() (declared *declarations, err error) {
	engine := in.version.engine
	if in.module, err = engine.runtime.InstantiateModule(in, in.version.module.CompiledModule, in.moduleConfig()); err != nil {
		return nil, err
	}
	in.memory = in.module.Memory()
	in.fuel = in.module.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	in.request = in.module.ExportedFunction(abi.ExportRequest)
	in.response = in.module.ExportedFunction(abi.ExportResponse)
	if err := in.initialize(); err != nil {
		return nil, err
	}
	return in.configure()
}

// moduleConfig gives the guest WASI's clocks, random bytes and output, and nothing else of the system.
func (in *instance) moduleConfig() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(&in.stdout).
		WithStderr(&in.stderr).
		WithRandSource(random{in}).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(in.sleep)
}

// sleep is a guest's sleep. It is the guest's own time, and ends the call when that is up.
func (in *instance) sleep(ns int64) {
	left := in.watch.left(in.version.now())
	time.Sleep(time.Duration(min(ns, left)))
	if ns > left {
		panic(errOverran)
	}
}

// random are the random bytes of a guest, for as long as it is within its time.
type random struct{ in *instance }

func (r random) Read(p []byte) (int, error) {
	r.in.inTime()
	return rand.Read(p)
}

// inTime ends the call of a guest whose time is up.
func (in *instance) inTime() {
	if in.watch.over() {
		panic(errOverran)
	}
}

func (in *instance) initialize() error {
	if f := in.module.ExportedFunction(exportInitialize); f != nil {
		return f.CallWithStack(in, nil)
	}
	f := in.module.ExportedFunction(exportStart)
	if f == nil {
		return nil
	}
	err := f.CallWithStack(in, nil)
	if exit := (*sys.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 0 {
		return nil
	}
	return err
}

func (in *instance) configure() (*declarations, error) {
	in.declared = new(declarations)
	defer func() { in.declared = nil }()
	f := in.module.ExportedFunction(abi.ExportConfigure)
	if f == nil {
		return in.declared, nil
	}
	in.phase = phaseConfigure
	if err := f.CallWithStack(in, in.stack[:]); err != nil {
		return nil, err
	}
	declared := in.declared
	if code := uint32(in.stack[0]); code != 0 && len(declared.reasons) == 0 && len(declared.refused) == 0 {
		return nil, &codeError{abi.ExportConfigure, code}
	}
	return declared, nil
}

// call runs porch_request or porch_response. It returns how long the guest itself ran, and the fuel it used.
func (in *instance) call(f api.Function, p phase, x *exchange.Exchange, place int) (time.Duration, int64, Cause, error) {
	in.x, in.place, in.headerOps = x, place, 0
	in.fuel.Set(uint64(in.version.fuel))
	in.begun(p, in.version.timeout)
	took, cause, err := in.ended(p, f.CallWithStack(in, in.stack[:]))
	in.x = nil
	return took, in.version.fuel - max(0, in.left()), cause, err
}

// left is the fuel that is left, below 0 if it was used up.
func (in *instance) left() int64 {
	if in.fuel == nil {
		return 0
	}
	return int64(in.fuel.Get())
}

// begun starts the clock of a call.
func (in *instance) begun(p phase, limit time.Duration) {
	in.phase, in.hostTime, in.pauses, in.space.refused = p, 0, 0, false
	in.callBegan = in.version.now()
	in.watch.start(in.callBegan + int64(limit))
	in.version.watchdog.started()
}

// ended stops the clock, and says how long the guest itself ran and how the call came out.
func (in *instance) ended(p phase, err error) (time.Duration, Cause, error) {
	in.watch.end()
	took := time.Duration(in.version.now() - in.callBegan - in.hostTime)
	in.phase = 0
	cause, err := in.judge(err, p)
	return took, cause, err
}

// judge finds the cause of what ended a call. One that came to its end is good, however late: only a guest
// that goes on asking is stopped.
func (in *instance) judge(err error, p phase) (Cause, error) {
	if err == nil {
		switch code := uint32(in.stack[0]); {
		case code != 0 && p&phaseExchange != 0:
			return CauseCode, &codeError{exportOf(p), code}
		default:
			return CauseNone, nil
		}
	}
	exit, code := (*sys.ExitError)(nil), (*codeError)(nil)
	exited := errors.As(err, &exit)
	switch {
	case errors.Is(err, errOverran):
		return CauseTimeout, errOverran
	case in.left() < 0:
		return CauseFuel, errSpent
	case errors.As(err, &code):
		return CauseCode, err
	case in.space.refused:
		return CauseMemory, err
	case exited:
		return CauseExit, fmt.Errorf("the guest exited with code %d", exit.ExitCode())
	default:
		return CauseTrap, err
	}
}

var (
	errOverran = errors.New("the guest ran over its time")
	errSpent   = errors.New("the guest used up its fuel")
)

// codeError is the result of an export that is not 0.
type codeError struct {
	export string
	code   uint32
}

func (e *codeError) Error() string { return fmt.Sprintf("%s returned %d", e.export, int32(e.code)) }

func exportOf(p phase) string {
	if p == phaseResponse {
		return abi.ExportResponse
	}
	return abi.ExportRequest
}

func (p phase) String() string {
	if p == phaseResponse {
		return "response"
	}
	return "request"
}

// maxPauses is how often the clock stops in one call. A guest that asks more of the host pays for it with
// its own time, so that it cannot keep an instance for ever by asking.
const maxPauses = 256

// pause stops the guest's clock while the host works for it.
func (in *instance) pause() {
	in.pausedAt = in.version.now()
	if in.pauses++; in.pauses <= maxPauses {
		in.watch.pause(in.pausedAt)
	}
}

// resume lets it go on.
func (in *instance) resume() {
	now := in.version.now()
	if in.pauses <= maxPauses {
		in.hostTime += now - in.pausedAt
		in.watch.resume(now)
	}
}

// close frees the instance. Nothing runs in it any more.
func (in *instance) close() {
	in.stdout.flush()
	in.stderr.flush()
	if in.module != nil {
		// It has no files to close, and its memory is released here, so there is nothing that can fail.
		_ = in.module.Close(in)
	}
	in.space.release()
}
