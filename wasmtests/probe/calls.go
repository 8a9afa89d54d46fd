//go:build wasip1

package main

import (
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/porchedge/porch/abi"
)

// The contract's functions, with plain numbers, so that a script can pass any.

//go:wasmimport porch_v1 policy
func hostPolicy(kind, namePtr, nameLen, specPtr, specLen uint32) int32

//go:wasmimport porch_v1 reject
func hostReject(pointerPtr, pointerLen, reasonPtr, reasonLen uint32) int32

//go:wasmimport porch_v1 need
func hostNeed(features, headerPtr, headerLen uint32, limit int64) int32

//go:wasmimport porch_v1 get
func hostGet(field, namePtr, nameLen, bufPtr, bufCap uint32) int32

//go:wasmimport porch_v1 list
func hostList(field, namePtr, nameLen, bufPtr, bufCap uint32) int32

//go:wasmimport porch_v1 set
func hostSet(field, namePtr, nameLen, valuePtr, valueLen uint32) int32

//go:wasmimport porch_v1 add
func hostAdd(field, namePtr, nameLen, valuePtr, valueLen uint32) int32

//go:wasmimport porch_v1 remove
func hostRemove(field, namePtr, nameLen uint32) int32

//go:wasmimport porch_v1 respond
func hostRespond(status uint32) int32

//go:wasmimport porch_v1 count
func hostCount(chargesPtr, n, verdictsPtr uint32) int32

//go:wasmimport porch_v1 begin
func hostBegin(policy, keyPtr, keyLen, digestPtr uint32) int32

//go:wasmimport porch_v1 reserve
func hostReserve(policy, keyPtr, keyLen uint32) int32

//go:wasmimport porch_v1 digest
func hostDigest(parts, outPtr uint32) int32

//go:wasmimport porch_v1 clock
func hostClock(kind uint32) int64

//go:wasmimport porch_v1 log
func hostLog(level, textPtr, textLen uint32) int32

//go:wasmimport porch_v1 verifier
func hostVerifier(atPtr, atLen, specPtr, specLen uint32) int32

//go:wasmimport porch_v1 verify
func hostVerify(verifier, tokenPtr, tokenLen, bufPtr, bufCap uint32) int32

//go:wasmimport wasi_snapshot_preview1 random_get
func wasiRandom(bufPtr, bufLen uint32) int32

// raw calls a function with the numbers of a script.
func raw(function string, n []uint32) int64 {
	switch function {
	case "policy":
		return int64(hostPolicy(n[0], n[1], n[2], n[3], n[4]))
	case "reject":
		return int64(hostReject(n[0], n[1], n[2], n[3]))
	case "need":
		return int64(hostNeed(n[0], n[1], n[2], int64(int32(n[3]))))
	case "get":
		return int64(hostGet(n[0], n[1], n[2], n[3], n[4]))
	case "list":
		return int64(hostList(n[0], n[1], n[2], n[3], n[4]))
	case "set":
		return int64(hostSet(n[0], n[1], n[2], n[3], n[4]))
	case "add":
		return int64(hostAdd(n[0], n[1], n[2], n[3], n[4]))
	case "remove":
		return int64(hostRemove(n[0], n[1], n[2]))
	case "respond":
		return int64(hostRespond(n[0]))
	case "count":
		return int64(hostCount(n[0], n[1], n[2]))
	case "reserve":
		return int64(hostReserve(n[0], n[1], n[2]))
	case "begin":
		return int64(hostBegin(n[0], n[1], n[2], n[3]))
	case "digest":
		return int64(hostDigest(n[0], n[1]))
	case "clock":
		return hostClock(n[0])
	case "log":
		return int64(hostLog(n[0], n[1], n[2]))
	case "verifier":
		return int64(hostVerifier(n[0], n[1], n[2], n[3]))
	case "verify":
		return int64(hostVerify(n[0], n[1], n[2], n[3], n[4]))
	}
	panic("probe: no function " + function)
}

// call calls a function whose arguments are numbers and texts; a text is passed by address and length.
func call(function string, arguments ...any) int64 {
	var n []uint32
	for _, a := range arguments {
		switch a := a.(type) {
		case int32:
			n = append(n, uint32(a))
		case string:
			n = append(n, uint32(uintptr(unsafe.Pointer(unsafe.StringData(a)))), uint32(len(a)))
		case []byte:
			n = append(n, address(a))
		}
	}
	result := raw(function, n)
	runtime.KeepAlive(arguments)
	return result
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// buffer receives what functions write. It has room for the largest value and a margin.
var buffer = make([]byte, 2<<20)

const untouched = 0xee

// fill calls get or list with a buffer of size bytes, and reports what became of it.
func fill(function string, field int32, name string, size int) string {
	for i := range size + 64 {
		buffer[i] = untouched
	}
	n := []uint32{uint32(field), uint32(uintptr(unsafe.Pointer(unsafe.StringData(name)))), uint32(len(name)), address(buffer), uint32(size)}
	result := raw(function, n)
	runtime.KeepAlive(name)
	written := 0
	if result >= 0 && int(result) <= size {
		written = int(result)
	}
	for _, b := range buffer[written : size+64] {
		if b != untouched {
			return strconv.FormatInt(result, 10) + ":TOUCHED"
		}
	}
	if written == 0 {
		return strconv.FormatInt(result, 10)
	}
	return strconv.FormatInt(result, 10) + ":" + encode(string(buffer[:written]))
}

// field is the whole value of a field; empty where there is none.
func field(f abi.Field, name string) string {
	got := hostGet(uint32(f), uint32(uintptr(unsafe.Pointer(unsafe.StringData(name)))), uint32(len(name)), address(buffer), uint32(len(buffer)))
	runtime.KeepAlive(name)
	if got < 0 {
		return ""
	}
	return string(buffer[:got])
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("probe: " + s + " is no number")
	}
	return n
}

func decode(word string) string {
	if word == "-" {
		return ""
	}
	if n, ok := strings.CutPrefix(word, "@"); ok {
		return strings.Repeat("a", int(number(n)))
	}
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '%' {
			b, err := strconv.ParseUint(word[i+1:i+3], 16, 8)
			if err != nil {
				panic("probe: " + word + " is not percent-encoded")
			}
			out.WriteByte(byte(b))
			i += 2
			continue
		}
		out.WriteByte(word[i])
	}
	return out.String()
}

const digits = "0123456789abcdef"

func hexadecimal(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

func encode(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c > ' ' && c < 0x7f && !strings.ContainsRune("%,:;", rune(c)) {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + hexadecimal([]byte{c}))
		}
	}
	return out.String()
}
