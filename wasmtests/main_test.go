package wasmtests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// probe is the guest of ./probe, built by TestMain.
var probe []byte

func TestMain(m *testing.M) {
	if err := buildProbe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m,
		// fasthttp ends these by itself, some time after it is closed.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

func buildProbe() (err error) {
	dir, err := os.MkdirTemp("", "porch-probe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	probe, err = build("./probe", filepath.Join(dir, "probe.wasm"))
	return err
}

// build makes a guest with the standard toolchain; the same sources give the same bytes, so its compiled
// form is found in the cache.
func build(pkg, out string) ([]byte, error) {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-w -buildid=", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the guest %s: %w\n%s", pkg, err, text)
	}
	return os.ReadFile(out)
}

// testCache is the folder of compiled guests that the tests of this checkout share.
func testCache(t testing.TB) string {
	if dir := os.Getenv("PORCH_TEST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(dir, "porch-test")
}
