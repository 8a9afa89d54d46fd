package fuel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/porchedge/porch/host/wasm/fuel"
)

// The tests of the WebAssembly specification, as wazero's module carries them, come out the same with every
// module metered.
func TestSpecification(t *testing.T) {
	dir := specification(t)
	scripts, err := filepath.Glob(filepath.Join(dir, "v2", "testdata", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) < 100 {
		t.Fatalf("only %d scripts in %s", len(scripts), dir)
	}
	host, err := os.ReadFile(filepath.Join(dir, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	eachEngine(t, func(t *testing.T, config wazero.RuntimeConfig) {
		compared := 0
		for _, script := range scripts {
			t.Run(strings.TrimSuffix(filepath.Base(script), ".json"), func(t *testing.T) {
				compared += compareScript(t, config, host, script)
			})
		}
		if compared < 50_000 {
			t.Errorf("only %d commands were compared", compared)
		}
	})
}

// specification is the folder of the tests in the source of wazero.
func specification(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// script is a test as wast2json writes it.
type script struct {
	Commands []command
}

type command struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	ModuleType string `json:"module_type"`
	Action     struct {
		Type, Field, Module string
		Args                []value
	}
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

// world is where one of the two runs takes place.
type world struct {
	runtime wazero.Runtime
	meter   bool
	named   map[string]api.Module
	last    api.Module
}

// compareScript runs a script with the modules as they are and metered, and returns how many commands it ran.
func compareScript(t *testing.T, config wazero.RuntimeConfig, host []byte, path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	worlds := [2]*world{{}, {meter: true}}
	for _, w := range worlds {
		w.runtime, w.named = newRuntime(t, config), map[string]api.Module{}
		w.add(host, "spectest")
	}
	n := 0
	for i, c := range s.Commands {
		if c.ModuleType == "text" || c.Type == "register" {
			continue
		}
		registered := ""
		if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
			registered = s.Commands[i+1].As
		}
		want, got := worlds[0].run(t, path, c, registered), worlds[1].run(t, path, c, registered)
		if got != want {
			t.Errorf("line %d, %s: %s, metered %s", c.Line, c.Type, want, got)
		}
		n++
	}
	return n
}

// run does what a command says and describes what came of it.
func (w *world) run(t *testing.T, path string, c command, registered string) string {
	if c.Filename != "" {
		module, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
		if err != nil {
			t.Fatal(err)
		}
		instance, err := w.add(module, registered)
		if err != nil {
			// What is wrong with a module is told in other words where the rewriting sees it first.
			return "refused"
		}
		if c.Type == "module" {
			w.last = instance
			w.named[c.Name] = instance
		}
		return "instantiated"
	}
	instance := w.last
	if c.Action.Module != "" {
		instance = w.named[c.Action.Module]
	}
	if instance == nil {
		return "no module"
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(instance.ExportedGlobal(c.Action.Field).Get())
	}
	return invoke(instance.ExportedFunction(c.Action.Field), c.Action.Args)
}

func (w *world) add(module []byte, name string) (api.Module, error) {
	if w.meter {
		var err error
		if module, err = fuel.Meter(module, plenty); err != nil {
			return nil, err
		}
	}
	return w.runtime.InstantiateWithConfig(context.Background(), module, wazero.NewModuleConfig().WithName(name))
}

func invoke(f api.Function, args []value) string {
	var stack []uint64
	for _, a := range args {
		stack = append(stack, a.words()...)
	}
	results, err := f.Call(context.Background(), stack...)
	if err != nil {
		return firstLine(err)
	}
	// References are addresses: all that can be compared is whether they are null.
	for i, kind := range f.Definition().ResultTypes() {
		if kind == api.ValueTypeExternref || kind == 0x70 {
			results[i] = min(results[i], 1)
		}
	}
	return fmt.Sprint(results)
}

// words is the value as wazero takes it.
func (v value) words() []uint64 {
	lanes, vector := v.Value.([]any)
	if !vector {
		text, _ := v.Value.(string)
		return []uint64{word(v.Type, text)}
	}
	bits := 128 / len(lanes)
	var words [2]uint64
	for i, lane := range lanes {
		text, _ := lane.(string)
		at := i * bits
		words[at/64] |= word(v.LaneType, text) & (math.MaxUint64 >> (64 - bits)) << (at % 64)
	}
	return words[:]
}

func word(kind, text string) uint64 {
	if text == "null" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		signed, _ := strconv.ParseInt(text, 10, 64)
		n = uint64(signed)
	}
	switch kind {
	case "externref":
		return n + 1 // 0 is null
	case "i32", "f32":
		return uint64(uint32(n))
	default:
		return n
	}
}
