// Package host is the other side of the contract as a filter calls it: imported functions in a WebAssembly
// build, the Host that guesttest installs in a native one. It is the only place of the SDK with unsafe code.
package host

import "unsafe"

// View returns b as a string without a copy. It must not outlive what b holds.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Charge is one charge of Count.
type Charge struct {
	Policy int32
	Key    []byte
	Cost   int64
	Limit  int64
}
