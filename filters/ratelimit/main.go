// Command ratelimit is the filter that charges each request against a limit of its route and tells the
// client where it stands. What it counts by, and how much is allowed, comes from its configuration; that the
// count is exact and survives a crash is the host's part.
package main

import "github.com/porchedge/porch/guest"

func main() {}

//go:wasmexport porch_configure
func porchConfigure() int32 { return guest.Configure(configure) }

//go:wasmexport porch_request
func porchRequest() int32 { return guest.OnRequest(onRequest) }

//go:wasmexport porch_response
func porchResponse() int32 { return guest.OnResponse(onResponse) }

// The configured limit. An instance is configured once, before its first request.
var (
	limit  guest.Limit
	parts  []part
	shares bool // requests without an identity share one count instead of being refused
	texts  wording
)
