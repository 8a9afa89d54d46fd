//go:build !faults

package clock

// System is the machine's own clocks.
func System() Source { return machine{} }
