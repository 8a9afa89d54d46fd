// Command idempotency is the filter that has a request with an Idempotency-Key run once: it reads the key,
// takes the fingerprint of the request and claims the key. Running, waiting, storing and replaying are the
// host's part, and so is the answer to a key that was used for another request.
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
	once     guest.Once
	scope    []identity.Part // none: keys are everybody's
	header   string
	methods  []string
	required bool
	parts    int32 // of the fingerprint
)
