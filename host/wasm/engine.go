// Package wasm runs the guests: it loads modules, checks them against the contract in abi, keeps their
// instances, bounds their time and memory, and gives them the host's side of the contract. The host loads
// and closes versions; host/edge/chain calls them, one call at a time for each exchange. Nothing here
// survives a crash: what must survive lies behind the pool, which guests reach by count and begin.
package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/porchedge/porch/host/token"
)

// EngineConfig is what NewEngine needs.
type EngineConfig struct {
	// CacheDir keeps compiled modules from one start to the next; only this user may write to it, since
	// what lies there is run. Empty keeps them in memory.
	CacheDir string
	Logger   *slog.Logger
	Observer Observer // may be nil
	// Interpreter takes wazero's interpreter where the compiler would do.
	Interpreter bool
	// StartLimit is how long a guest may take to be initialized and configured; 0 takes 10 seconds.
	StartLimit time.Duration
}

// Observer is told of every call.
type Observer interface {
	// Called is called once a call has ended.
	Called(Call)
	// Verified is called once a token was looked at.
	Verified(filter string, outcome token.Outcome)
	// KeysChanged is called when a file of keys has changed; taken says whether they are used now.
	KeysChanged(filter string, taken bool)
}

// Call is one call of a filter, as it came out.
type Call struct {
	Filter, Version string
	Phase           string        // "request" or "response"
	Took            time.Duration // that the guest ran, without the decisions it asked for
	Fuel, Budget    int64         // units that it has used, and that it had
	Cause           Cause         // CauseNone after a success
}

const defaultStartLimit = 10 * time.Second

// Engine compiles modules and runs them. All of its versions share compiled code: two filters over one
// module cost one compilation. Its methods may be called at once from many goroutines.
type Engine struct {
	log        *slog.Logger
	observer   Observer
	startLimit time.Duration
	cache      wazero.CompilationCache
	runtime    wazero.Runtime
	wasi       wasiFunctions
	compiles   bool
	modules    modules
}

// NewEngine makes an engine. Where memory may not be made executable it interprets guests, and says so
// in the log.
func NewEngine(cfg EngineConfig) (*Engine, error) {
	e := &Engine{log: cfg.Logger, observer: cfg.Observer, startLimit: cfg.StartLimit}
	if e.startLimit == 0 {
		e.startLimit = defaultStartLimit
	}
	e.compiles = !cfg.Interpreter && compilerWorks()
	if !e.compiles && !cfg.Interpreter {
		e.log.Warn("filters are interpreted, about 50 times slower: this system does not let a process make memory executable",
			slog.String("hint", "allow it, for example MemoryDenyWriteExecute=no in a systemd unit"))
	}
	if err := e.open(cfg.CacheDir); err != nil {
		return nil, err
	}
	return e, nil
}

// Compiles says whether guests run as machine code.
func (e *Engine) Compiles() bool { return e.compiles }

// Close frees the engine. Its versions have been closed before.
func (e *Engine) Close() error {
	ctx := context.Background()
	return errors.Join(e.runtime.Close(ctx), e.cache.Close(ctx))
}

// open makes the one runtime. The memory limit of a filter is kept by the allocator of its instances, not
// by a runtime of its own: so the host learns that a guest was refused memory, and filters with different
// limits share host modules and compiled code.
func (e *Engine) open(cacheDir string) error {
	ctx := context.Background()
	e.cache = e.openCache(cacheDir)
	config := wazero.NewRuntimeConfigInterpreter()
	if e.compiles {
		config = wazero.NewRuntimeConfigCompiler()
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config.
		WithCompilationCache(e.cache).
		WithDebugInfoEnabled(false))
	var err error
	if e.wasi, err = defineHost(ctx, e.runtime); err != nil {
		return errors.Join(fmt.Errorf("wasm: cannot define the host's functions: %w", err), e.Close())
	}
	return nil
}

// openCache falls back to memory where the folder cannot be used: a slower start is no reason not to.
func (e *Engine) openCache(dir string) wazero.CompilationCache {
	if dir == "" || !e.compiles {
		return wazero.NewCompilationCache()
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err == nil {
		err = writable(dir)
	}
	if err != nil {
		e.log.Warn("compiled filters are not kept: the next start compiles them again", slog.Any("error", err))
		return wazero.NewCompilationCache()
	}
	return cache
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// compilerWorks tries wazero's compiler, which panics where it cannot make memory executable.
func compilerWorks() (works bool) {
	defer func() {
		if recover() != nil {
			works = false
		}
	}()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer r.Close(ctx)
	_, err := r.Instantiate(ctx, trivialModule)
	return err == nil
}

// trivialModule has one function that does nothing, so that there is code to make executable.
var trivialModule = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 4, 1, 0x60, 0, 0, // type: no parameters, no results
	3, 2, 1, 0, // function 0 of type 0
	10, 4, 1, 2, 0, 0x0b, // code: end
}
