// Package host is the other side of the contract as a filter calls it: imported functions in a WebAssembly
// build, the Host that guesttest installs in a native one. It is the only place of the SDK with unsafe code.
package host

// Charge is one charge of Count.
type Charge struct {
	Policy int32
	Key    []byte
	Cost   int64
	Limit  int64
}
