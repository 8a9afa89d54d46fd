package store

import "time"

// Algorithm is how a limit counts.
type Algorithm uint8

// The algorithms; the numbers stand in rows.
const (
	AlgorithmFixedWindow Algorithm = 1
)

// Row is a counter as its algorithm sees it. The zero Row is that of a key that was never charged. Times
// are store time.
type Row struct {
	Start, End time.Duration
	Used       int64
}

// Charge is what an algorithm is asked.
type Charge struct {
	Cost   int64 // 1 to 2^53 for each of the charges that are taken together
	Limit  int64
	Window time.Duration
	// Reserved says that room was set aside for this charge before, so it is taken in any case.
	Reserved bool
}

// Verdict is an algorithm's answer.
type Verdict struct {
	Allowed    bool
	Used       int64 // after the charge if it was allowed, else as it stands
	Limit      int64
	Remaining  int64         // never negative
	ResetAfter time.Duration // until the count is 0 again
	RetryAfter time.Duration // until this charge can be allowed; 0 if it was, -1 if waiting does not help
}

// decide is the pure heart: (row, charge, now) to (row, verdict). A refused charge leaves the row as it is.
func (a Algorithm) decide(row Row, c Charge, now time.Duration) (Row, Verdict) {
	switch a {
	case AlgorithmFixedWindow:
		return fixedWindow(row, c, now)
	}
	panic("store: rule with an unknown algorithm")
}
