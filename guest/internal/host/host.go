// Package host is the other side of the contract as a filter calls it: imported functions in a WebAssembly
// build, the Host that guesttest installs in a native one. It is the only place of the SDK with unsafe code.
package host

import (
	"unsafe"

	"github.com/porchedge/porch/abi"
)

// View returns b as a string without a copy. It must not outlive what b holds.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Charge is one charge of Count.
type Charge struct {
	Policy int32
	Key    []byte
	Cost   int64
	Limit  int64
}

// Host answers the calls of a filter in a native build. Arguments and results are those of abi/README.md;
// a buffer is filled only if the result fits whole.
type Host interface {
	Policy(kind int32, name, spec string) int32
	Reject(pointer, reason string) int32
	Need(features int32, header string, limit int64) int32
	Get(field abi.Field, name string, buf []byte) int32
	List(field abi.Field, name string, buf []byte) int32
	Set(field abi.Field, name string, value []byte) int32
	Add(field abi.Field, name string, value []byte) int32
	Remove(field abi.Field, name string) int32
	Respond(status int32) int32
	Count(charges []Charge, verdicts []byte) int32
	Begin(policy int32, key []byte, digest *[abi.DigestSize]byte) int32
	Reserve(policy int32, key []byte) int32
	Digest(parts int32, out *[abi.DigestSize]byte) int32
	Clock(kind int32) int64
	Log(level int32, text string) int32
	Verifier(at, spec string) int32
	Verify(verifier int32, token, buf []byte) int32
}

// Current is the host that a filter runs against in a native build.
var Current Host
