package filters_test

import (
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/porchedge/porch/filters"
	"github.com/porchedge/porch/guest/guesttest"
)

// Every built filter does what its scripts say, like its native build, on both engines: a miscompilation
// of one of them would show here.
func TestGolden(t *testing.T) {
	engines := map[string]func() wazero.RuntimeConfig{
		"compiler":    wazero.NewRuntimeConfigCompiler,
		"interpreter": wazero.NewRuntimeConfigInterpreter,
	}
	for engine, config := range engines {
		for _, name := range filters.Names() {
			t.Run(engine+"/"+name, func(t *testing.T) {
				scripts, err := filepath.Glob(filepath.Join(name, "testdata", "*.txt"))
				if err != nil || len(scripts) == 0 {
					t.Fatalf("no scripts: %v", err)
				}
				m := instantiate(t, name, config())
				for _, path := range scripts {
					t.Run(filepath.Base(path), func(t *testing.T) {
						m.Reset()
						guesttest.Script(t, path, m.Host, m.exports)
					})
				}
			})
		}
	}
}
