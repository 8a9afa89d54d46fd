//go:build !linux

package clock

import (
	"crypto/rand"
	"time"
)

// machine is the clocks of the machine that the process runs on. Without a portable name for a boot each
// process counts as a boot of its own: across a restart the wall clock says how long it took.
type machine struct{}

var process = rand.Text()

func (machine) Wall() time.Time         { return time.Now() }
func (machine) Elapsed() time.Duration  { return Monotonic() }
func (machine) BootID() (string, error) { return process, nil }
