// Command replayguard is the filter that lets each event pass once in its time: it reserves what the request is
// known by, and refuses whoever comes with the same. What that is comes from its configuration; that of any number
// of copies one passes, also over a crash, is the host's part.
package main

import (
	"github.com/porchedge/porch/filters/identity"
	"github.com/porchedge/porch/guest"
)

func main() {}

//go:wasmexport porch_configure
func porchConfigure() int32 { return guest.Configure(configure) }

//go:wasmexport porch_request
func porchRequest() int32 { return guest.OnRequest(onRequest) }

// The configured policy. An instance is configured once, before its first request.
var (
	guard   guest.Guard
	parts   []identity.Part // none: the hash of the body
	methods []string
)
