//go:build !race

package pool

// raced says that the race detector is on, under which pools drop what they keep.
const raced = false
