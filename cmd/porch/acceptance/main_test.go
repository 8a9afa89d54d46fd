package acceptance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// executable is the porch under test; TestMain sets it.
var executable string

// cacheHome is the user cache folder of every process under test, so that the built-in filters are
// compiled once and not once a test.
var cacheHome string

// parallel is how many tests run at once. They mostly wait, for a flight or a drain, so there are more of
// them than processors.
const parallel = 6

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && os.Getenv("PORCH_TEST_PARALLEL") == "" {
		f.Value.Set(fmt.Sprint(parallel))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if executable, err = findExecutable(); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		return 1
	}
	if cacheHome = os.Getenv("PORCH_TEST_CACHE"); cacheHome == "" {
		if cacheHome, err = os.MkdirTemp("", "porch-acceptance-cache-"); err != nil {
			fmt.Fprintln(os.Stderr, "acceptance:", err)
			return 1
		}
		defer os.RemoveAll(cacheHome)
	}
	if err := warm(); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		return 1
	}
	return m.Run()
}

// warm has the built-in filters compiled, so that the first tests do not do it all at once.
func warm() error {
	dir, err := os.MkdirTemp("", "porch-acceptance-warm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "porch.yaml")
	c := config{to: "127.0.0.1:1", filters: []filter{ratelimit("limit: 1, window: 1m"), idempotency("")}}
	if err := os.WriteFile(file, []byte(c.yaml("127.0.0.1:1", "127.0.0.1:2")), 0o644); err != nil {
		return err
	}
	if out, err := command("check", "--config", file).CombinedOutput(); err != nil {
		return fmt.Errorf("porch check: %w\n%s", err, out)
	}
	return nil
}

// findExecutable is the binary that PORCH_BIN names, else one that make builds.
func findExecutable() (string, error) {
	if named := os.Getenv("PORCH_BIN"); named != "" {
		if _, err := os.Stat(named); err == nil {
			return filepath.Abs(named)
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("make", "-C", root, "build").CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	return filepath.Join(root, "bin", "porch"), nil
}
