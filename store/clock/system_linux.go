package clock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is the clocks of the machine that the process runs on.
type machine struct{}

func (machine) Wall() time.Time { return time.Now() }

func (machine) Elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("clock: CLOCK_BOOTTIME cannot be read: " + err.Error()) // there since Linux 2.6.39
	}
	return time.Duration(t.Nano())
}

func (machine) BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}
