package acceptance

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
)

// A19: a filter replaced 100 times under 64 connections.
//
// Every other swap changes the filter's configuration and is asked for by a signal; the others change its
// module, between two builds that differ in a section that does nothing, and are noticed.
func TestFilterIsReplacedUnderTraffic(t *testing.T) {
	const connections, warm, swaps = 64, 10, 100
	up := serveUpstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	module := builtin(t, "ratelimit")
	builds := [][]byte{module, append(append([]byte(nil), module...), customSection("build", "2")...)}

	c := config{to: up.address, filters: []filter{ratelimit("limit: 1000000, window: 12h")}}
	c.filters[0].module = "./limit.wasm"
	p := prepare(t, c)
	p.replace("limit.wasm", builds[0])
	p.begin()

	var passed atomic.Int64
	stop := make(chan struct{})
	traffic := start(connections, func(int) {
		cl := p.client()
		for {
			select {
			case <-stop:
				cl.http.CloseIdleConnections()
				return
			default:
			}
			got, err := cl.try(request{})
			if err != nil || got.status != http.StatusOK {
				t.Errorf("a request failed: %d %s %v", got.status, got.body, err)
				return
			}
			passed.Add(1)
		}
	})

	build := 0
	swap := func(i int) {
		before := p.metrics()
		if i%2 == 0 {
			c.filters[0].config = fmt.Sprintf("limit: %d, window: 12h", 1000001+i)
			p.configure(c)
			p.signal(syscall.SIGHUP)
		} else {
			build = 1 - build
			p.replace("limit.wasm", builds[build])
		}
		p.awaitReload(reloadsDone, before)
	}
	for i := range warm {
		swap(i)
	}
	settled := p.settle()
	for i := range swaps {
		swap(warm + i)
	}
	// The former versions drain under traffic; what is left is weighed under the same traffic.
	after := p.settle()
	t.Logf("before %+v, after %+v", settled, after)
	if after.goroutines > settled.goroutines+16 {
		t.Errorf("%d goroutines, %d before", after.goroutines, settled.goroutines)
	}
	if after.descriptors > settled.descriptors+8 {
		t.Errorf("%d descriptors, %d before", after.descriptors, settled.descriptors)
	}
	if after.resident > settled.resident+settled.resident/4 {
		t.Errorf("%d MB resident, %d after ten swaps", after.resident>>20, settled.resident>>20)
	}
	close(stop)
	traffic()
	q := lastQuota(t, p.client().send(request{}))
	if used := q.limit - q.remaining; used != passed.Load()+1 {
		t.Errorf("%d counted, %d passed", used, passed.Load()+1)
	}
	if n := p.metrics().sum(reloads, reloadsRefused); n != 0 {
		t.Errorf("%v reloads were refused", n)
	}
}

// weight is what a process takes.
type weight struct {
	goroutines, descriptors int
	resident                int64
}

// settle weighs the process once every former version has been closed.
func (p *process) settle() weight {
	p.t.Helper()
	await(p.t, "former versions are closed", func() bool { return p.metrics().sum(filterVersions) == 1 })
	return weight{int(p.metrics().sum("go_goroutines")), p.descriptors(), p.status("VmRSS")}
}

// filterVersions is how many versions of a filter are open.
const filterVersions = "porch_filter_versions"

// builtin is the module of a built-in filter.
func builtin(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../filters/dist/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// customSection is a section that a runtime skips.
func customSection(name, content string) []byte {
	inside := append(binary.AppendUvarint(nil, uint64(len(name))), name+content...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(inside))), inside...)
}
