// Package clock reads the machine's clocks and derives store time from them: time that only moves forward,
// whatever anybody does to the wall clock. The store owns the one Clock of a process; nothing else in store
// and pool reads a clock. After a crash store time goes on from the last reading that was committed.
package clock
