//go:build faults

package clock

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// System is the machine's own clocks, bent by the file that the environment variable PORCH_FAULTS names:
//
//	{"wall_offset": "1h", "boot_id": "x", "boottime_offset": "0s"}
//
// The file is read at each call. While it is missing or being written, what it said last holds.
func System() Source { return &faulty{path: os.Getenv("PORCH_FAULTS")} }

type faulty struct {
	machine
	path string

	mu   sync.Mutex
	last faults
}

type faults struct {
	WallOffset     duration `json:"wall_offset"`
	BootID         string   `json:"boot_id"`
	BoottimeOffset duration `json:"boottime_offset"`
}

type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

func (f *faulty) read() faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.path)
	if err != nil {
		return f.last
	}
	var next faults
	if json.Unmarshal(text, &next) == nil {
		f.last = next
	}
	return f.last
}

func (f *faulty) Wall() time.Time {
	return f.machine.Wall().Add(time.Duration(f.read().WallOffset))
}

func (f *faulty) Elapsed() time.Duration {
	return f.machine.Elapsed() + time.Duration(f.read().BoottimeOffset)
}

func (f *faulty) BootID() (string, error) {
	if id := f.read().BootID; id != "" {
		return id, nil
	}
	return f.machine.BootID()
}
