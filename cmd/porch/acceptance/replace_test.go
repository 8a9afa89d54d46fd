package acceptance

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A19: a filter replaced 100 times under 64 connections.
//
// Every other swap changes the filter's configuration and is asked for by a signal; the others change its
// module, between two builds that differ in a section that does nothing, and are noticed. The counts are
// kept in memory alone: what the store buffers of the traffic would outweigh what a swap may leave behind.
func TestFilterIsReplacedUnderTraffic(t *testing.T) {
	const connections, warm, swaps = 64, 10, 100
	up := serveUpstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	module := builtin(t, "ratelimit")
	builds := [][]byte{module, append(append([]byte(nil), module...), customSection("build", "2")...)}

	c := config{to: up.address, filters: []filter{ratelimit("limit: 1000000, window: 12h, durability: none")}}
	c.filters[0].module = "./limit.wasm"
	p := prepare(t, c)
	p.replace("limit.wasm", builds[0])
	p.env = []string{"GOGC=25"} // weighed is what is held, not what waits to be collected
	p.begin()

	var passed atomic.Int64
	var road sync.RWMutex // held for reading by each request, for writing while the process is weighed
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
			road.RLock()
			got, err := cl.try(request{})
			road.RUnlock()
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
			c.filters[0].config = fmt.Sprintf("limit: %d, window: 12h, durability: none", 1000001+i)
			p.configure(c)
			p.signal(syscall.SIGHUP)
		} else {
			build = 1 - build
			p.replace("limit.wasm", builds[build])
		}
		p.awaitReload(reloadsDone, before)
	}
	// The connections stay open while the process is weighed.
	weigh := func() weight {
		road.Lock()
		defer road.Unlock()
		p.rest()
		return p.settle()
	}
	// What the allocator happens to hold differs from look to look; a leak is there at every look.
	const looks = 3
	var before, after []weight
	for i := range warm + swaps {
		swap(i)
		switch {
		case i >= warm-looks && i < warm:
			before = append(before, weigh())
		case i >= warm+swaps-looks:
			after = append(after, weigh())
		}
	}
	resident := func(a, b weight) int { return cmp.Compare(a.resident, b.resident) }
	settled, left := slices.MaxFunc(before, resident), slices.MinFunc(after, resident)
	t.Logf("before %+v, after %+v", before, after)
	if left.goroutines > settled.goroutines+2 {
		t.Errorf("%d goroutines, %d before", left.goroutines, settled.goroutines)
	}
	if left.descriptors > settled.descriptors+2 {
		t.Errorf("%d descriptors, %d before", left.descriptors, settled.descriptors)
	}
	if left.resident > settled.resident+settled.resident/4 {
		t.Errorf("%d MB resident, %d after ten swaps", left.resident>>20, settled.resident>>20)
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
	goroutines  int
	descriptors int // without those of idle connections to upstreams, of which there are more or fewer
	resident    int64
}

// settle weighs the process once every former version has been closed.
func (p *process) settle() weight {
	p.t.Helper()
	var m metrics
	await(p.t, "former versions are closed", func() bool { m = p.metrics(); return m.sum(filterVersions) == 1 })
	idle := int(m.sum("porch_upstream_connections"))
	return weight{int(m.sum("go_goroutines")), p.descriptors() - idle, p.status("VmRSS")}
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
