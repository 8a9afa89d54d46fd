// Package clock reads the machine's clocks for the store and derives store time from them: time that only
// moves forward, whatever anybody does to the wall clock. The store is its only owner; nothing else in
// store and pool reads a clock. After a crash store time goes on from the last reading that was committed.
package clock

import "time"

// Source is a set of clocks.
type Source interface {
	// Wall is the time of day, for people and for headers. It may step either way.
	Wall() time.Time
	// Elapsed is the time since the machine was started, suspended time included. It never steps.
	Elapsed() time.Duration
	// BootID names this start of the machine. Elapsed of two starts cannot be compared.
	BootID() (string, error)
}

// began is the origin of Monotonic.
var began = time.Now()

// Monotonic is the time since the process began, for measuring how long something took.
func Monotonic() time.Duration { return time.Since(began) }
