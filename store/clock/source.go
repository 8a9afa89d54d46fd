package clock

import "time"

// Source is a machine's clocks.
type Source interface {
	// Wall is the time of day, for people and for headers. It may step either way.
	Wall() time.Time
	// Elapsed is the time since the machine was started, with the time it was suspended. It never steps.
	Elapsed() time.Duration
	// BootID names this start of the machine, in at most 64 bytes. Elapsed of two starts cannot be
	// compared.
	BootID() (string, error)
}

// began is the origin of Monotonic.
var began = time.Now()

// Monotonic is the time since this process began. It is for measuring how long something took; no decision
// about a row rests on it.
func Monotonic() time.Duration { return time.Since(began) }
