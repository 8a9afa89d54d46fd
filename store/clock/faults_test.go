//go:build faults

package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFaultsBendTheClocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults.json")
	t.Setenv("PORCH_FAULTS", path)
	source := System()
	plainWall, plainElapsed := machine{}.Wall(), machine{}.Elapsed()
	if d := source.Wall().Sub(plainWall); d < 0 || d > time.Minute {
		t.Errorf("without a file the wall is off by %v", d)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"wall_offset":"-1h","boot_id":"x","boottime_offset":"2h"}`)
	for range 2 {
		if d := source.Wall().Sub(plainWall); d > -59*time.Minute {
			t.Errorf("the wall is off by %v", d)
		}
		if d := source.Elapsed() - plainElapsed; d < 2*time.Hour {
			t.Errorf("the time since the boot is off by %v", d)
		}
		if id, err := source.BootID(); id != "x" || err != nil {
			t.Errorf("boot is %q, %v", id, err)
		}
		write(`{"wall_off`) // half written: what it said last holds
	}
	write(`{}`)
	if id, err := source.BootID(); id == "x" || err != nil {
		t.Errorf("boot is %q, %v", id, err)
	}
}
