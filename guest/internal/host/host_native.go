//go:build !wasip1

package host

import "github.com/porchedge/porch/abi"

func Policy(kind int32, name, spec string) int32 { return Current.Policy(kind, name, spec) }

func Reject(pointer, reason string) int32 { return Current.Reject(pointer, reason) }

func Need(features int32, header string, limit int64) int32 {
	return Current.Need(features, header, limit)
}

func Get(field abi.Field, name string, buf []byte) int32 { return Current.Get(field, name, buf) }

func List(field abi.Field, name string, buf []byte) int32 { return Current.List(field, name, buf) }

func Set(field abi.Field, name string, value []byte) int32 { return Current.Set(field, name, value) }

func Add(field abi.Field, name string, value []byte) int32 { return Current.Add(field, name, value) }

func Remove(field abi.Field, name string) int32 { return Current.Remove(field, name) }

func Respond(status int32) int32 { return Current.Respond(status) }

var charges [abi.MaxCharges]Charge

func PutCharge(i int, policy int32, key []byte, cost, limit int64) {
	charges[i] = Charge{policy, key, cost, limit}
}

func Count(n int, verdicts []byte) int32 { return Current.Count(charges[:n], verdicts) }

func Begin(policy int32, key []byte, digest *[abi.DigestSize]byte) int32 {
	return Current.Begin(policy, key, digest)
}

func Reserve(policy int32, key []byte) int32 { return Current.Reserve(policy, key) }

func Digest(parts int32, out *[abi.DigestSize]byte) int32 { return Current.Digest(parts, out) }

func Clock(kind int32) int64 { return Current.Clock(kind) }

func Log(level int32, text string) int32 { return Current.Log(level, text) }

func Verifier(at, spec string) int32 { return Current.Verifier(at, spec) }

func Verify(verifier int32, token, buf []byte) int32 { return Current.Verify(verifier, token, buf) }
