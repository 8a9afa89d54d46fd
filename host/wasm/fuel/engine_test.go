package fuel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// plenty is more fuel than a test uses up.
const plenty = int64(1) << 60

// engines are those of wazero; what is rewritten has to mean the same on both.
var engines = map[string]func() wazero.RuntimeConfig{
	"compiler":    wazero.NewRuntimeConfigCompiler,
	"interpreter": wazero.NewRuntimeConfigInterpreter,
}

func eachEngine(t *testing.T, test func(t *testing.T, config wazero.RuntimeConfig)) {
	for name, config := range engines {
		t.Run(name, func(t *testing.T) { test(t, config()) })
	}
}

// newRuntime is a runtime until the test ends.
func newRuntime(t testing.TB, config wazero.RuntimeConfig) wazero.Runtime {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { r.Close(ctx) })
	return r
}

// firstLine is an error without the guest's stack.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
