package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// Cause says why a call of a filter failed. Its text is a metric label.
type Cause uint8

// The causes.
const (
	CauseNone    Cause = iota
	CauseTrap          // the guest trapped, or pointed outside its memory
	CauseTimeout       // it was over its time when it asked the host for something
	CauseFuel          // it has used up its fuel
	CauseMemory        // it died after it was refused more memory
	CauseExit          // it called proc_exit
	CauseCode          // an export returned something other than 0
	CauseBusy          // no instance was free in time
	CauseStart         // a further instance could not be started
	CauseClosed        // the version was closed
)

var causeNames = [...]string{"none", "trap", "timeout", "fuel", "memory", "exit", "code", "busy", "start", "closed"}

func (c Cause) String() string { return causeNames[c] }

// Failure is the error of a call that a filter did not end well.
type Failure struct {
	Filter, Version string
	Cause           Cause
	Err             error // what the engine said; for logs alone, since it quotes the guest
}

// Error is one short line. It leaves out the guest's stack, which the version logs by itself.
func (f *Failure) Error() string {
	line := fmt.Sprintf("wasm: filter %q, version %s: %s", f.Filter, f.Version, f.Cause)
	if f.Err == nil {
		return line
	}
	return line + ": " + firstLine(f.Err.Error())
}

func (f *Failure) Unwrap() error { return f.Err }

// Why a module cannot be loaded; a LoadError wraps one of them.
var (
	// ErrModule is returned for bytes that are not a module the engine can compile.
	ErrModule = errors.New("not a usable WebAssembly module")
	// ErrImport is returned for an import that the host does not have, or not so.
	ErrImport = errors.New("import refused")
	// ErrExport is returned when an export is missing or has another signature.
	ErrExport = errors.New("export missing or wrong")
	// ErrMemory is returned when the module starts above its memory limit.
	ErrMemory = errors.New("memory limit too small")
	// ErrStart is returned when the module fails while it is initialized or configured.
	ErrStart = errors.New("cannot be started")
	// ErrPolicy is returned when a policy that the filter declares is refused.
	ErrPolicy = errors.New("policy refused")
	// ErrVerifier is returned when a verifier that the filter declares is refused.
	ErrVerifier = errors.New("verifier refused")
	// ErrDiffers is returned when two instances of one version declare different things.
	ErrDiffers = errors.New("instances declare different policies, needs or verifiers")
)

// LoadError says in one line why a module was not loaded.
type LoadError struct {
	Filter, Module string
	Err            error // wraps one of the errors above
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("filter %q: module %s: %s", e.Filter, e.Module, firstLine(e.Err.Error()))
}

func (e *LoadError) Unwrap() error { return e.Err }

// Rejected is returned by Load when the guest rejected its configuration.
type Rejected struct {
	Filter  string
	Reasons []Reason // at least one
}

// Reason is one thing that a guest has against its configuration.
type Reason struct {
	Pointer string // JSON pointer (RFC 6901) into the configuration
	Text    string
}

func (r *Rejected) Error() string {
	first := r.Reasons[0]
	line := fmt.Sprintf("filter %q rejects its configuration: %s: %s", r.Filter, first.Pointer, first.Text)
	if more := len(r.Reasons) - 1; more > 0 {
		line += fmt.Sprintf(" (and %d more)", more)
	}
	return line
}

const maxErrorLine = 512 // bytes

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return oneLine([]byte(text), maxErrorLine)
}
