package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/porchedge/porch/abi"
)

// Spec says what to load and within which bounds.
type Spec struct {
	Filter    string        // name of the filter
	Module    string        // where the module came from, for messages
	Source    []byte        // the module
	Config    []byte        // JSON; empty stands for {}
	Timeout   time.Duration // guest time of one call until the host refuses it more, and longest wait for an instance
	Fuel      int64         // units that one call may use; 0 takes DefaultFuel
	Memory    int64         // most bytes of an instance's memory, rounded down to pages of 64 KiB
	Instances int           // most instances
	Decider   Decider
	KeyDir    string // where relative paths of key files start
}

// DefaultFuel is what one call of a filter may use unless its Spec says more or less: a thousand times what the
// filters that ship use, as a Go guest's garbage collection may take half of it, and it ends a runaway within
// 50 ms. BenchmarkUnit in package fuel shows what a unit takes.
const DefaultFuel = 30_000_000

// Load compiles, checks and starts a module. The version that it returns has a few instances ready; its
// owner closes it. A guest that refuses its configuration gives a *Rejected, anything else that is wrong
// with the module a *LoadError.
func (e *Engine) Load(ctx context.Context, s Spec) (*Version, error) {
	if s.Timeout <= 0 || s.Memory < pageSize || s.Instances < 1 {
		return nil, fmt.Errorf("wasm: filter %q: timeout, memory and instances have to be above zero", s.Filter)
	}
	if s.Fuel == 0 {
		s.Fuel = DefaultFuel
	}
	if len(s.Config) == 0 {
		s.Config = []byte("{}")
	}
	compiled, err := e.prepare(ctx, s)
	if err != nil {
		return nil, &LoadError{s.Filter, s.Module, err}
	}
	v := newVersion(e, s, compiled)
	if err := v.warm(); err != nil {
		closeErr := v.Close()
		if rejected := (*Rejected)(nil); errors.As(err, &rejected) {
			return nil, rejected
		}
		return nil, &LoadError{s.Filter, s.Module, errors.Join(err, closeErr)}
	}
	return v, nil
}

// prepare compiles a module and checks it against the contract.
func (e *Engine) prepare(ctx context.Context, s Spec) (*module, error) {
	sections, err := sectionsOf(s.Source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	imports, err := importsOf(sections)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	if err := checkImports(imports, e.wasi); err != nil {
		return nil, err
	}
	source, err := boundTables(s.Source, sections)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	compiled, err := e.modules.acquire(ctx, e.runtime, source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	if err := errors.Join(checkSignatures(compiled, e.wasi), checkExports(compiled, uint64(s.Memory))); err != nil {
		return nil, errors.Join(err, e.modules.release(compiled))
	}
	return compiled, nil
}

// warm starts the instances that a version begins with: one for each processor, so that a swap under load
// does not begin with a wait.
func (v *Version) warm() error {
	for range min(v.instances.max, max(2, runtime.GOMAXPROCS(0))) {
		if err := v.instances.open(); err != nil {
			return err
		}
	}
	return nil
}

// grow makes an instance. The first one of a version declares its policies and needs; the others have to
// declare the same, since handles mean the same in all of them.
func (v *Version) grow() (*instance, error) {
	in, err := newInstance(v, v.declared == nil)
	if err != nil {
		return nil, err
	}
	v.instances.add(in)
	declared, err := in.start()
	if err == nil {
		err = v.accept(declared)
	}
	if err != nil {
		v.instances.abandon(in)
		return nil, err
	}
	return in, nil
}

// accept judges what an instance declared.
func (v *Version) accept(d *declarations) error {
	switch {
	case len(d.reasons) > 0:
		return &Rejected{Filter: v.filter, Reasons: d.reasons}
	case len(d.refused) > 0:
		return errors.Join(d.refused...)
	case v.declared == nil:
		v.declared = d
		return nil
	case !v.declared.agrees(d):
		return ErrDiffers
	default:
		return nil
	}
}

// identify is the version of a filter: 12 hex digits over its module and its configuration.
func identify(source, config []byte) string {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(source))))
	h.Write(source)
	h.Write(config)
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// policyOf finds a declared policy by its handle; nil unless it is of that kind.
func (v *Version) policyOf(handle uint32, kind abi.Kind) *policy {
	if uint64(handle) >= uint64(len(v.declared.policies)) {
		return nil
	}
	if p := &v.declared.policies[handle]; p.kind == kind {
		return p
	}
	return nil
}
