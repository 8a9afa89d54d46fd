package acceptance

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// misdeeds are what a filter may try, and the cause that is counted for it.
var misdeeds = []struct {
	name  string
	code  []byte
	cause string
	more  [][]byte
}{
	{"loops for ever", []byte{opLoop, noResult, opBranch, 0, opEnd}, "fuel", nil},
	{"loops by a table", slices.Concat([]byte{opLoop, noResult}, constant(0), []byte{opBranchTable, 1, 0, 0, opEnd}), "fuel", nil},
	{"fills its memory again and again", slices.Concat([]byte{opLoop, noResult}, constant(0), constant(7), constant(1<<16),
		[]byte{opMore, opMemoryFill, 0, opBranch, 0, opEnd}), "fuel", nil},
	{"copies its memory again and again", slices.Concat([]byte{opLoop, noResult}, constant(0), constant(0), constant(1<<16),
		[]byte{opMore, opMemoryCopy, 0, 0, opBranch, 0, opEnd}), "fuel", nil},
	{"calls without a loop, billions of times", []byte{opCall, 2, opDrop}, "fuel", doubling()},
	{"grows its memory without end", slices.Concat([]byte{opLoop, noResult}, constant(1),
		[]byte{opMemoryGrow, 0, opDrop, opBranch, 0, opEnd}), "fuel", nil},
	{"traps", []byte{opUnreachable}, "trap", nil},
	{"reads outside its memory", slices.Concat(constant(-16), []byte{opLoad, 2, 0, opDrop}), "trap", nil},
	{"has the host read outside its memory", append(call(0, 7, -16, 8, 0, 0), opDrop), "trap", nil},
	{"calls itself without end", []byte{opCall, 2, opDrop}, "fuel", [][]byte{{opCall, 2}}},
	{"returns a number", append(constant(7), opReturn), "code", nil},
}

// A18: whatever a filter does, that request alone gets 503.
func TestHostileFilterHarmsItsRequestAlone(t *testing.T) {
	t.Parallel()
	for _, m := range misdeeds {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := prepare(t, config{to: up.address,
				filters: []filter{
					{name: "hostile", module: "./hostile.wasm", settings: "timeout: 100ms, memory: 8MiB, instances: 2"},
					ratelimit("limit: 1000000, window: 1h"),
				},
				routes: []string{
					"path: /hostile, filters: [hostile], upstream: app",
					"path: /, filters: [per-client], upstream: app",
				}})
			p.replace("hostile.wasm", hostileWith(m.code, m.more))
			p.begin()
			c := p.client()
			wantStatus(t, c.send(request{target: "/hostile"}), http.StatusOK)
			before := p.metrics()

			const n = 6
			bad := c.startAll(n, always(request{target: "/hostile", header: header("X-Hostile", "1")}))
			for range n {
				wantStatus(t, c.send(request{target: "/other"}), http.StatusOK)
			}
			for _, got := range bad() {
				wantUnavailable(t, got)
				for _, word := range []string{"wasm", "unreachable", "memory", "stack", p.dir} {
					if strings.Contains(got.body, word) {
						t.Errorf("the client is told %q: %s", word, got.body)
					}
				}
			}
			wantStatus(t, c.send(request{target: "/hostile"}), http.StatusOK)
			up.wantRows(1 + n + 1)
			failed := p.metrics().sum(filterFailures, `filter="hostile"`, `cause="`+m.cause+`"`) -
				before.sum(filterFailures, `filter="hostile"`, `cause="`+m.cause+`"`)
			// With two instances some of those that waited for one may have waited too long.
			if failed < 1 || failed > n {
				t.Errorf("%v failures by %s are counted", failed, m.cause)
			}
		})
	}
}

// filterFailures counts failures of a filter by cause.
const filterFailures = "porch_filter_failures_total"

// What a filter took is given back when its instance is closed.
func TestMemoryOfHostileFiltersReturns(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, config{to: up.address, filters: []filter{
		{name: "hostile", module: "./hostile.wasm", settings: "timeout: 1s, memory: 64MiB, instances: 2"}}})
	// Takes all the memory that it gets and writes to none of it, then traps.
	grow := slices.Concat(constant(512), []byte{opMemoryGrow, 0, opDrop}, constant(256), []byte{opMemoryGrow, 0, opDrop, opUnreachable})
	p.replace("hostile.wasm", hostile(grow...))
	p.begin()
	c := p.client()
	bad := request{header: header("X-Hostile", "1")}
	for range 4 {
		wantUnavailable(t, c.send(bad))
	}
	before := p.status("VmRSS")
	for range 40 { // 40 times 48 MiB
		wantUnavailable(t, c.send(bad))
	}
	const slack = 64 << 20
	if !comes(func() bool { return p.status("VmRSS") < before+slack }) {
		t.Errorf("%d MB resident after, %d before", p.status("VmRSS")>>20, before>>20)
	}
	wantStatus(t, c.send(request{}), http.StatusOK)
	up.wantRows(1)
}

// A filter that fails open lets the request go on without it.
func TestOpenFilterLetsItsRequestPass(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, config{to: up.address, filters: []filter{
		{name: "hostile", module: "./hostile.wasm", settings: "timeout: 100ms, on_failure: open"},
		ratelimit("limit: 1, window: 1h")}})
	p.replace("hostile.wasm", hostile(opUnreachable))
	p.begin()
	bad := request{header: header("X-Hostile", "1")}
	wantStatus(t, p.client().send(bad), http.StatusOK)
	wantProblem(t, p.client().send(bad), http.StatusTooManyRequests, quotaExceeded)
	up.wantRows(1)
}

// A failed filter gives back the claim of its request: the waiters run.
func TestFailedFilterGivesTheClaimBack(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, config{to: up.address, filters: []filter{
		idempotency("ttl: 1h"),
		{name: "hostile", module: "./hostile.wasm", settings: "timeout: 2s"}}})
	p.replace("hostile.wasm", hostile(opUnreachable))
	p.begin()
	order := request{key: "k", body: "order"}
	bad := order
	bad.header = header("X-Hostile", "1")
	wantUnavailable(t, p.client().send(bad))
	up.wantRows(0)
	got := p.client().send(order)
	wantStatus(t, got, http.StatusOK)
	wantReplay(t, p.client().send(bad), got)
	up.wantRows(1)
}
