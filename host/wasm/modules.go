package wasm

import (
	"context"
	"crypto/sha256"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/porchedge/porch/host/wasm/fuel"
)

// startFuel is what a guest may use while it is initialized and configured, in units: a Go runtime starts with
// some 10 million, and a loop ends within a second.
const startFuel = 500_000_000

// modules are the compiled modules in use, by their content. Reading and checking a module takes long even
// where its machine code is found in the cache, so versions of the same module share one.
type modules struct {
	// compiling is held while a module compiles: wazero would compile a module twice when asked for it
	// twice at once.
	compiling sync.Mutex

	mu struct {
		sync.Mutex
		used map[[sha256.Size]byte]*module
	}
}

// module is one compiled module. Each acquire is matched by a release.
type module struct {
	wazero.CompiledModule
	key  [sha256.Size]byte
	uses int // guarded by modules.mu
}

// acquire meters and compiles source unless somebody uses the same module already. It is called off the request path.
func (m *modules) acquire(ctx context.Context, r wazero.Runtime, source []byte) (*module, error) {
	key := sha256.Sum256(source)
	m.compiling.Lock()
	defer m.compiling.Unlock()
	if known := m.use(key); known != nil {
		return known, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	metered, err := fuel.Meter(source, startFuel)
	if err != nil {
		return nil, err
	}
	compiled, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), metered)
	if err != nil {
		return nil, err
	}
	added := &module{CompiledModule: compiled, key: key, uses: 1}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.used == nil {
		m.mu.used = map[[sha256.Size]byte]*module{}
	}
	m.mu.used[key] = added
	return added, nil
}

// use counts one more use of a module; nil if there is none.
func (m *modules) use(key [sha256.Size]byte) *module {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.mu.used[key]
	if known != nil {
		known.uses++
	}
	return known
}

// release ends one use, and closes the module after the last one.
func (m *modules) release(done *module) error {
	m.mu.Lock()
	done.uses--
	last := done.uses == 0
	if last {
		delete(m.mu.used, done.key)
	}
	m.mu.Unlock()
	if !last {
		return nil
	}
	return done.Close(context.Background())
}
