package fuel_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/porchedge/porch/host/wasm/fuel"
)

// ways are how code can be bounded: not at all, by fuel, and by wazero's cancellation.
var ways = []struct {
	name   string
	meter  bool
	cancel bool
}{{"plain", false, false}, {"metered", true, false}, {"cancellation", false, true}}

func prepared(b *testing.B, module []byte, meter bool) []byte {
	if !meter {
		return module
	}
	metered, err := fuel.Meter(module, plenty)
	if err != nil {
		b.Fatal(err)
	}
	return metered
}

// BenchmarkLoop is a tight loop of a million turns.
func BenchmarkLoop(b *testing.B) {
	count := []byte{ // the first word of the memory goes down from a million to 0
		0x41, 0, 0x41, 0xc0, 0x84, 0x3d, 0x36, 2, 0,
		0x03, 0x40,
		0x41, 0, 0x41, 0, 0x28, 2, 0, 0x41, 1, 0x6b, 0x36, 2, 0,
		0x41, 0, 0x28, 2, 0, 0x0d, 0,
		0x0b,
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(way.cancel))
			defer r.Close(ctx)
			m, err := r.Instantiate(ctx, prepared(b, module(count), way.meter))
			if err != nil {
				b.Fatal(err)
			}
			run := m.ExportedFunction("run")
			for b.Loop() {
				if err := run.CallWithStack(ctx, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func shipped(b *testing.B) []byte {
	source, err := os.ReadFile("../../../filters/dist/ratelimit.wasm")
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip("the filters are not built: run make filters")
	}
	if err != nil {
		b.Fatal(err)
	}
	return source
}

// BenchmarkMeter rewrites the filter ratelimit; growth is in percent.
func BenchmarkMeter(b *testing.B) {
	source := shipped(b)
	b.SetBytes(int64(len(source)))
	var metered []byte
	for b.Loop() {
		metered = prepared(b, source, true)
	}
	b.ReportMetric(100*float64(len(metered)-len(source))/float64(len(source)), "growth-%")
}

// BenchmarkGuest starts the filter ratelimit, a Go program: its runtime's and its packages' own code.
func BenchmarkGuest(b *testing.B) {
	source := shipped(b)
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(way.cancel))
			defer r.Close(ctx)
			wasi_snapshot_preview1.MustInstantiate(ctx, r)
			compiled, err := r.CompileModule(ctx, prepared(b, source, way.meter))
			if err != nil {
				b.Fatal(err)
			}
			defineUnused(b, r, compiled)
			config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				m, err := r.InstantiateModule(ctx, compiled, config)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := m.ExportedFunction("_initialize").Call(ctx); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				m.Close(ctx)
				b.StartTimer()
			}
		})
	}
}

// defineUnused defines the host's functions that a module imports and does not call while it starts.
func defineUnused(b *testing.B, r wazero.Runtime, compiled wazero.CompiledModule) {
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range compiled.ImportedFunctions() {
		host, name, _ := f.Import()
		if host == wasi_snapshot_preview1.ModuleName {
			continue
		}
		if hosts[host] == nil {
			hosts[host] = r.NewHostModuleBuilder(host)
		}
		never := api.GoModuleFunc(func(context.Context, api.Module, []uint64) { panic("called " + name) })
		hosts[host].NewFunctionBuilder().WithGoModuleFunction(never, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, host := range hosts {
		if _, err := host.Instantiate(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
