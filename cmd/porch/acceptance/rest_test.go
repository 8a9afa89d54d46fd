package acceptance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// After requests that ended in every way there is, the process is as before: no goroutine, no connection
// and no descriptor more than an idle one has.
func TestProcessComesToRest(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	broken := serveScript(t, func(_ int, w *wire) {
		w.request()
		w.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"))
	})
	p := prepare(t, config{to: up.address, server: "idle_timeout: 1s", upstream: "timeout: 500ms",
		upstreams: fmt.Sprintf(`down: { targets: ["http://%s"] }
  broken: { targets: ["http://%s"] }`, freeAddress(t), broken.address),
		filters: []filter{
			ratelimit(`limit: 4, window: 1h, key: ["header:X-Key"], missing: shared`),
			idempotency("ttl: 1h, max_wait: 200ms, max_request: 1KiB, max_response: 1KiB"),
			{name: "hostile", module: "./hostile.wasm", settings: "timeout: 100ms"},
		},
		routes: []string{
			"path: /, filters: [per-client, once], upstream: app",
			"path: /down, filters: [once], upstream: down",
			"path: /broken, filters: [once], upstream: broken",
			"path: /hostile, filters: [once, hostile], upstream: app",
		}})
	p.replace("hostile.wasm", hostile(opLoop, noResult, opBranch, 0, opEnd))
	p.begin()
	idle := p.descriptors()

	c := p.client()
	send := func(what string, n int, r func(i int) request) {
		for i, got := range c.sendAll(n, r) {
			if got.status == 0 {
				t.Errorf("%s %d has no answer", what, i)
			}
		}
	}
	own := func(i int) http.Header { return header("X-Key", fmt.Sprint(i)) }
	send("plain", 20, func(i int) request { return request{header: own(i)} })
	send("limited", 20, always(request{}))
	send("keyed", 20, func(i int) request { return request{key: fmt.Sprint(i / 4), body: "order", header: own(i)} })
	send("mismatch", 5, func(i int) request { return request{key: "0", body: fmt.Sprint(i), header: own(i)} })
	send("too large", 5, func(i int) request {
		return request{key: "large", body: strings.Repeat("x", 2<<10), header: own(i)}
	})
	send("down", 5, keyed("down", request{target: "/down", body: "order"}))
	send("looping", 5, keyed("loop", request{target: "/hostile", body: "order", header: header("X-Hostile", "1")}))
	for range 5 {
		c.try(request{target: "/broken"})
		w := dial(t, p.listen)
		w.say("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: half\r\nContent-Length: 10\r\n\r\nhalf")
		w.Close()
		w = dial(t, p.listen)
		w.say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf")
		w.Close()
		w = dial(t, p.listen)
		w.say("GET / HTTP/9.9\r\n\r\n")
		w.closed()
		dial(t, p.listen).say("GET / HTTP/1.1\r\nHost: slow\r\n") // until porch gives up
	}
	up.hold()
	waited := c.startAll(10, always(request{key: "slow", body: "order", header: own(1000)}))
	send("timed out", 5, func(i int) request { return request{header: own(2000 + i)} })
	waited()
	up.open()

	c.http.CloseIdleConnections()
	await(t, "no client's connection is left", func() bool { return p.metrics().sum("porch_http_connections") == 0 })
	const background = 2 // what the runtime may start when it likes
	var now float64
	if !comes(func() bool { now = p.metrics().sum("go_goroutines"); return now <= p.quiet+background }) {
		t.Errorf("%v goroutines at rest, %v before", now, p.quiet)
	}
	kept := int(p.metrics().sum("porch_upstream_connections"))
	if n := p.descriptors(); n > idle+kept+background {
		t.Errorf("%d descriptors at rest, of which %d are connections to upstreams; %d before", n, kept, idle)
	}
}
