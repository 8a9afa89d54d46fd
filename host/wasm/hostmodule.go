package wasm

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/porchedge/porch/abi"
)

// phase is what an instance is doing; the values are bits, so a set of phases is one too.
type phase uint8

const (
	phaseStart     phase = 1 << iota // in _initialize or _start
	phaseConfigure                   // in porch_configure
	phaseRequest                     // in porch_request
	phaseResponse                    // in porch_response
	phaseAnswered                    // in porch_request, after respond

	phaseExchange = phaseRequest | phaseResponse
	phaseAny      = phaseStart | phaseConfigure | phaseExchange | phaseAnswered
)

// hostFunction is one function of the contract. call takes the parameters from the stack and returns the
// result; a negative one is an abi.Condition. It is only called in one of its phases.
type hostFunction struct {
	name            string
	params, results []api.ValueType
	phases          phase
	call            func(in *instance, stack []uint64) int64
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

var resultI32 = []api.ValueType{i32}

// hostFunctions are all functions of the contract.
var hostFunctions = []hostFunction{
	{abi.FuncPolicy, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseConfigure, (*instance).policy},
	{abi.FuncReject, []api.ValueType{i32, i32, i32, i32}, resultI32, phaseConfigure, (*instance).reject},
	{abi.FuncNeed, []api.ValueType{i32, i32, i32, i64}, resultI32, phaseConfigure, (*instance).need},
	{abi.FuncGet, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseConfigure | phaseExchange, (*instance).get},
	{abi.FuncList, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseExchange, (*instance).list},
	{abi.FuncSet, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseExchange, (*instance).set},
	{abi.FuncAdd, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseExchange, (*instance).add},
	{abi.FuncRemove, []api.ValueType{i32, i32, i32}, resultI32, phaseExchange, (*instance).remove},
	{abi.FuncRespond, []api.ValueType{i32}, resultI32, phaseRequest, (*instance).respond},
	{abi.FuncCount, []api.ValueType{i32, i32, i32}, resultI32, phaseRequest, (*instance).count},
	{abi.FuncBegin, []api.ValueType{i32, i32, i32, i32}, resultI32, phaseRequest, (*instance).begin},
	{abi.FuncReserve, []api.ValueType{i32, i32, i32}, resultI32, phaseRequest, (*instance).reserve},
	{abi.FuncDigest, []api.ValueType{i32, i32}, resultI32, phaseRequest, (*instance).digest},
	{abi.FuncClock, []api.ValueType{i32}, []api.ValueType{i64}, phaseAny &^ phaseAnswered, (*instance).clock},
	{abi.FuncLog, []api.ValueType{i32, i32, i32}, resultI32, phaseAny, (*instance).log},
	{abi.FuncVerifier, []api.ValueType{i32, i32, i32, i32}, resultI32, phaseConfigure, (*instance).verifier},
	{abi.FuncVerify, []api.ValueType{i32, i32, i32, i32, i32}, resultI32, phaseRequest, (*instance).verify},
}

func hostFunctionNamed(name string) *hostFunction {
	for i := range hostFunctions {
		if hostFunctions[i].name == name {
			return &hostFunctions[i]
		}
	}
	return nil
}

func hostFunctionNames() []string {
	names := make([]string, len(hostFunctions))
	for i := range hostFunctions {
		names[i] = hostFunctions[i].name
	}
	return names
}

// defineHost instantiates the modules that guests import from, and returns what WASI's has.
func defineHost(ctx context.Context, r wazero.Runtime) (wasiFunctions, error) {
	porch := r.NewHostModuleBuilder(abi.Module)
	for _, f := range hostFunctions {
		porch.NewFunctionBuilder().WithGoModuleFunction(f.goFunction(), f.params, f.results).Export(f.name)
	}
	if _, err := porch.Instantiate(ctx); err != nil {
		return nil, err
	}
	wasi := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(wasi)
	wasi.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(procExit), resultI32, nil).Export("proc_exit")
	module, err := wasi.Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	return module.ExportedFunctionDefinitions(), nil
}

// goFunction is f as wazero calls it. The context is always the instance itself, so nothing is looked up.
func (f hostFunction) goFunction() api.GoModuleFunc {
	call, phases, narrow := f.call, f.phases, f.results[0] == i32
	return func(ctx context.Context, module api.Module, stack []uint64) {
		in := ctx.(*instance)
		in.inTime()
		if in.memory == nil {
			in.memory = module.Memory() // the module's start function calls before there is an instance
		}
		result := int64(abi.WrongPhase)
		if in.phase&phases != 0 {
			result = call(in, stack)
		}
		stack[0] = uint64(result)
		if narrow {
			stack[0] = uint64(uint32(result))
		}
	}
}

// procExit ends the call. wazero's own would close the module at once; the instance does that when it has
// unwound, and an exit with 0 from _start closes nothing.
func procExit(_ context.Context, _ api.Module, stack []uint64) {
	panic(sys.NewExitError(uint32(stack[0])))
}

// condition is a result that says why there is none.
func condition(c abi.Condition) int64 { return int64(c) }

// errOutside is the trap of a pointer that reaches outside the guest's memory.
var errOutside = errors.New("pointer outside memory")

// bytes is a view of guest memory, valid until the guest runs again. It traps where the range is not
// inside the memory; with length 0 the address is not looked at.
func (in *instance) bytes(address, length uint64) []byte {
	if uint32(length) == 0 {
		return nil
	}
	b, ok := in.memory.Read(uint32(address), uint32(length))
	if !ok {
		panic(errOutside)
	}
	return b
}

// clock gives the time in milliseconds.
func (in *instance) clock(stack []uint64) int64 {
	switch int32(uint32(stack[0])) {
	case abi.ClockWall:
		return time.Now().UnixMilli()
	case abi.ClockStore:
		return in.version.decider.StoreTime().Milliseconds()
	default:
		return condition(abi.Invalid)
	}
}
