package host

import (
	"encoding/binary"
	"unsafe"

	"github.com/porchedge/porch/abi"
)

// A string parameter of an imported function is passed as its address and length.

//go:wasmimport porch_v1 policy
//go:noescape
func Policy(kind int32, name, spec string) int32

//go:wasmimport porch_v1 reject
//go:noescape
func Reject(pointer, reason string) int32

//go:wasmimport porch_v1 need
//go:noescape
func Need(features int32, header string, limit int64) int32

//go:wasmimport porch_v1 get
//go:noescape
func get(field int32, name string, buf unsafe.Pointer, size uint32) int32

//go:wasmimport porch_v1 list
//go:noescape
func list(field int32, name string, buf unsafe.Pointer, size uint32) int32

//go:wasmimport porch_v1 set
//go:noescape
func set(field int32, name string, value unsafe.Pointer, size uint32) int32

//go:wasmimport porch_v1 add
//go:noescape
func add(field int32, name string, value unsafe.Pointer, size uint32) int32

//go:wasmimport porch_v1 remove
//go:noescape
func remove(field int32, name string) int32

//go:wasmimport porch_v1 respond
//go:noescape
func Respond(status int32) int32

//go:wasmimport porch_v1 count
//go:noescape
func count(charges unsafe.Pointer, n int32, verdicts unsafe.Pointer) int32

//go:wasmimport porch_v1 begin
//go:noescape
func begin(policy int32, key unsafe.Pointer, size uint32, digest unsafe.Pointer) int32

//go:wasmimport porch_v1 reserve
//go:noescape
func reserve(policy int32, key unsafe.Pointer, size uint32) int32

//go:wasmimport porch_v1 digest
//go:noescape
func digest(parts int32, out unsafe.Pointer) int32

//go:wasmimport porch_v1 clock
//go:noescape
func Clock(kind int32) int64

//go:wasmimport porch_v1 log
//go:noescape
func Log(level int32, text string) int32

//go:wasmimport porch_v1 verifier
//go:noescape
func Verifier(at, spec string) int32

//go:wasmimport porch_v1 verify
//go:noescape
func verify(verifier int32, token unsafe.Pointer, size uint32, buf unsafe.Pointer, capacity uint32) int32

func Get(field abi.Field, name string, buf []byte) int32 {
	return get(int32(field), name, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

func List(field abi.Field, name string, buf []byte) int32 {
	return list(int32(field), name, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

func Set(field abi.Field, name string, value []byte) int32 {
	return set(int32(field), name, unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
}

func Add(field abi.Field, name string, value []byte) int32 {
	return add(int32(field), name, unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
}

func Remove(field abi.Field, name string) int32 { return remove(int32(field), name) }

// records are the charges as the host reads them. keys holds what they point to, which keeps it off a
// goroutine's stack: there it could move before the host looks.
var (
	records [abi.MaxCharges * abi.ChargeSize]byte
	keys    [abi.MaxCharges][]byte
)

func PutCharge(i int, policy int32, key []byte, cost, limit int64) {
	keys[i] = key
	r := records[i*abi.ChargeSize : (i+1)*abi.ChargeSize]
	binary.LittleEndian.PutUint32(r[0:], uint32(policy))
	binary.LittleEndian.PutUint32(r[4:], uint32(uintptr(unsafe.Pointer(unsafe.SliceData(key)))))
	binary.LittleEndian.PutUint32(r[8:], uint32(len(key)))
	binary.LittleEndian.PutUint64(r[16:], uint64(cost))
	binary.LittleEndian.PutUint64(r[24:], uint64(limit))
}

func Count(n int, verdicts []byte) int32 {
	return count(unsafe.Pointer(&records), int32(n), unsafe.Pointer(unsafe.SliceData(verdicts)))
}

func Begin(policy int32, key []byte, digest *[abi.DigestSize]byte) int32 {
	return begin(policy, unsafe.Pointer(unsafe.SliceData(key)), uint32(len(key)), unsafe.Pointer(digest))
}

func Reserve(policy int32, key []byte) int32 {
	return reserve(policy, unsafe.Pointer(unsafe.SliceData(key)), uint32(len(key)))
}

func Digest(parts int32, out *[abi.DigestSize]byte) int32 {
	return digest(parts, unsafe.Pointer(out))
}

func Verify(verifier int32, token, buf []byte) int32 {
	return verify(verifier, unsafe.Pointer(unsafe.SliceData(token)), uint32(len(token)),
		unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}
