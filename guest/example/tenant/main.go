// Command tenant is an example: it lets each tenant make some requests a minute.
package main

import (
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

var (
	perTenant guest.Limit
	key       guest.Key
	unknown   = &guest.Problem{Status: 401, Title: "Unauthorized", Detail: "X-Tenant is missing"}
	spent     = &guest.Problem{Status: 429, Title: "Too Many Requests", Detail: "try again in a minute"}
)

func main() {}

//go:wasmexport porch_configure
func porchConfigure() int32 { return guest.Configure(configure) }

//go:wasmexport porch_request
func porchRequest() int32 { return guest.OnRequest(onRequest) }

func configure(c *guest.Config) {
	limit := c.Object().Int("limit").In(1, 1_000_000).Or(100)
	if !c.Rejected() {
		perTenant = c.Limit("per-tenant", abi.LimitSpec{
			Algorithm: abi.AlgorithmFixedWindow, Limit: limit, WindowMS: time.Minute.Milliseconds(),
		})
	}
}

func onRequest(r *guest.Request) {
	tenant, ok := r.Header("X-Tenant")
	if !ok {
		r.Refuse(unknown)
		return
	}
	key.Reset()
	key.Add(tenant)
	id, ok := key.Bytes()
	if !ok {
		r.Refuse(unknown)
		return
	}
	if _, decision := r.Charge(perTenant, id, 1); decision == guest.Refused {
		r.Refuse(spent)
	}
	// Otherwise the request goes on; where nothing could be decided the host answers 503.
}
