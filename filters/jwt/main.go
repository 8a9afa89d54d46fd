// Command jwt is the filter that lets requests with a good bearer token pass: a JSON Web Token (RFC 7519)
// that was signed by the issuer for this audience. The host verifies it, with a key that the filter never
// sees; the filter refuses what is not good, and leaves the verified claims for the filters after it.
package main

import "github.com/porchedge/porch/guest"

func main() {}

//go:wasmexport porch_configure
func porchConfigure() int32 { return guest.Configure(configure) }

//go:wasmexport porch_request
func porchRequest() int32 { return guest.OnRequest(onRequest) }

// The configured verification. An instance is configured once, before its first request.
var (
	verifier guest.Verifier
	optional bool
	remove   bool
	bodyHash string   // the claim that must be the hash of the body; empty if none
	wanted   []string // the claims to leave; nil leaves all that can be left
)
