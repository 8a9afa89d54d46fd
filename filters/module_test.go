package filters_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/filters"
	"github.com/porchedge/porch/guest/guesttest"
)

// module is an instance of a built filter over the host of guesttest.
type module struct {
	*guesttest.Host
	exports guesttest.Filter
	memory  api.Memory
}

// instantiate runs a built filter on one of wazero's engines until the test ends. It skips the test where
// the filter has not been built.
func instantiate(t testing.TB, name string, engine wazero.RuntimeConfig) *module {
	t.Helper()
	source, err := filters.Open(name)
	if errors.Is(err, filters.ErrNotBuilt) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cache, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, engine.WithCompilationCache(cache))
	t.Cleanup(func() { runtime.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)

	m := &module{Host: guesttest.Fresh()}
	if err := m.offer(ctx, runtime); err != nil {
		t.Fatal(err)
	}
	config := wazero.NewModuleConfig().WithStartFunctions("_initialize").WithStderr(os.Stderr)
	instance, err := runtime.InstantiateWithConfig(ctx, source, config)
	if err != nil {
		t.Fatal(err)
	}
	m.memory = instance.Memory()
	m.exports = guesttest.Filter{
		Configure: export(ctx, t, instance, abi.ExportConfigure),
		Request:   export(ctx, t, instance, abi.ExportRequest),
		Response:  export(ctx, t, instance, abi.ExportResponse),
	}
	return m
}

// compiled is what all tests of this process have compiled, and with a folder named, other processes too.
var compiled = sync.OnceValues(func() (wazero.CompilationCache, error) {
	if dir := os.Getenv("PORCH_TEST_CACHE"); dir != "" {
		return wazero.NewCompilationCacheWithDir(dir)
	}
	return wazero.NewCompilationCache(), nil
})

func export(ctx context.Context, t testing.TB, instance api.Module, name string) func() int32 {
	f := instance.ExportedFunction(name)
	if f == nil {
		return nil
	}
	var stack [1]uint64
	return func() int32 {
		if err := f.CallWithStack(ctx, stack[:]); err != nil {
			t.Fatal(err)
		}
		return api.DecodeI32(stack[0])
	}
}

// bytes is a view of guest memory.
func (m *module) bytes(at, size uint32) []byte {
	if size == 0 {
		return nil
	}
	b, ok := m.memory.Read(at, size)
	if !ok {
		panic("outside memory")
	}
	return b
}

func (m *module) text(at, size uint32) string { return string(m.bytes(at, size)) }

// offer makes the host's functions importable.
func (m *module) offer(ctx context.Context, runtime wazero.Runtime) error {
	b := runtime.NewHostModuleBuilder(abi.Module)
	for name, f := range map[string]any{
		abi.FuncPolicy: func(kind int32, namePtr, nameLen, specPtr, specLen uint32) int32 {
			return m.Policy(kind, m.text(namePtr, nameLen), m.text(specPtr, specLen))
		},
		abi.FuncReject: func(pointerPtr, pointerLen, reasonPtr, reasonLen uint32) int32 {
			return m.Reject(m.text(pointerPtr, pointerLen), m.text(reasonPtr, reasonLen))
		},
		abi.FuncNeed: func(features int32, headerPtr, headerLen uint32, limit int64) int32 {
			return m.Need(features, m.text(headerPtr, headerLen), limit)
		},
		abi.FuncGet: func(field int32, namePtr, nameLen, bufPtr, bufCap uint32) int32 {
			return m.Get(abi.Field(field), m.text(namePtr, nameLen), m.bytes(bufPtr, bufCap))
		},
		abi.FuncList: func(field int32, namePtr, nameLen, bufPtr, bufCap uint32) int32 {
			return m.List(abi.Field(field), m.text(namePtr, nameLen), m.bytes(bufPtr, bufCap))
		},
		abi.FuncSet: func(field int32, namePtr, nameLen, valuePtr, valueLen uint32) int32 {
			return m.Set(abi.Field(field), m.text(namePtr, nameLen), m.bytes(valuePtr, valueLen))
		},
		abi.FuncAdd: func(field int32, namePtr, nameLen, valuePtr, valueLen uint32) int32 {
			return m.Add(abi.Field(field), m.text(namePtr, nameLen), m.bytes(valuePtr, valueLen))
		},
		abi.FuncRemove: func(field int32, namePtr, nameLen uint32) int32 {
			return m.Remove(abi.Field(field), m.text(namePtr, nameLen))
		},
		abi.FuncRespond: func(status int32) int32 { return m.Respond(status) },
		abi.FuncCount: func(chargesPtr uint32, n int32, verdictsPtr uint32) int32 {
			charges := make([]guesttest.Charge, n)
			for i := range charges {
				c := abi.GetCharge(m.bytes(chargesPtr+uint32(i)*abi.ChargeSize, abi.ChargeSize))
				charges[i] = guesttest.Charge{
					Policy: int32(c.Policy), Key: m.bytes(c.KeyAddr, c.KeyLen), Cost: c.Cost, Limit: c.Limit,
				}
			}
			return m.Count(charges, m.bytes(verdictsPtr, uint32(n)*abi.VerdictSize))
		},
		abi.FuncReserve: func(policy int32, keyPtr, keyLen uint32) int32 {
			return m.Reserve(policy, m.bytes(keyPtr, keyLen))
		},
		abi.FuncBegin: func(policy int32, keyPtr, keyLen, digestPtr uint32) int32 {
			digest := [abi.DigestSize]byte(m.bytes(digestPtr, abi.DigestSize))
			return m.Begin(policy, m.bytes(keyPtr, keyLen), &digest)
		},
		abi.FuncDigest: func(parts int32, outPtr uint32) int32 {
			return m.Digest(parts, (*[abi.DigestSize]byte)(m.bytes(outPtr, abi.DigestSize)))
		},
		abi.FuncClock: func(kind int32) int64 { return m.Clock(kind) },
		abi.FuncLog: func(level int32, textPtr, textLen uint32) int32 {
			return m.Log(level, m.text(textPtr, textLen))
		},
		abi.FuncVerifier: func(atPtr, atLen, specPtr, specLen uint32) int32 {
			return m.Verifier(m.text(atPtr, atLen), m.text(specPtr, specLen))
		},
		abi.FuncVerify: func(verifier int32, tokenPtr, tokenLen, bufPtr, bufCap uint32) int32 {
			return m.Verify(verifier, m.bytes(tokenPtr, tokenLen), m.bytes(bufPtr, bufCap))
		},
	} {
		b.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}
