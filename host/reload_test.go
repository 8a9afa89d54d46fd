package host

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestReload(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"module renamed into place": func(b *bench) { b.write("mark.wasm", stamp("two")) },
		"module written in pieces": func(b *bench) {
			f, err := os.Create(b.path("mark.wasm"))
			if err != nil {
				b.t.Fatal(err)
			}
			defer f.Close()
			for _, c := range stamp("two") {
				if _, err := f.Write([]byte{c}); err != nil {
					b.t.Fatal(err)
				}
			}
		},
		"configuration renamed into place": func(b *bench) {
			b.write("other.wasm", stamp("two"))
			b.configure(strings.Replace(oneFilter, "mark.wasm", "other.wasm", 1))
		},
		"configuration is a link that is swapped": func(b *bench) {
			b.write("other.wasm", stamp("two"))
			b.write("other.yaml", []byte(strings.ReplaceAll(strings.Replace(oneFilter, "mark.wasm", "other.wasm", 1), "UPSTREAM", b.upstream.URL)))
			if err := os.Symlink("other.yaml", b.path("link")); err != nil {
				b.t.Fatal(err)
			}
			if err := os.Rename(b.path("link"), b.path("porch.yaml")); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, answers, oneFilter, map[string][]byte{"mark.wasm": stamp("one")}).serve()
			b.wantStamp("one")
			change(b)
			b.log.await(t, "reloaded generation=2")
			b.wantStamp("two")
		})
	}
}

// TestRefusedReload names what is wrong, keeps the live generation, and takes the file once it is right.
func TestRefusedReload(t *testing.T) {
	replaced := func(old, new string) func(b *bench) {
		return func(b *bench) { b.configure(strings.Replace(oneFilter, old, new, 1)) }
	}
	for name, test := range map[string]struct {
		change func(b *bench)
		want   string
	}{
		"not YAML":        {func(b *bench) { b.write("porch.yaml", []byte("routes: [")) }, "porch.yaml:2:1: not one YAML document"},
		"unknown key":     {replaced("upstreams:", "pool: { shard: 1 }\nupstreams:"), `unknown key "shard", did you mean "shards"?`},
		"missing module":  {replaced("mark.wasm", "gone.wasm"), "gone.wasm: no such file or directory"},
		"broken module":   {func(b *bench) { b.write("mark.wasm", []byte("not wasm")) }, "not a usable WebAssembly module"},
		"unknown import":  {func(b *bench) { b.write("mark.wasm", strange()) }, "teleport"},
		"removed file":    {func(b *bench) { os.Remove(b.path("porch.yaml")) }, "no such file or directory"},
		"another address": {replaced("127.0.0.1:0", "127.0.0.1:1"), "needs a restart to change listen; nothing was applied"},
		"another store":   {replaced("path: data", "path: elsewhere"), "needs a restart to change store; nothing was applied"},
		"several at once": {replaced("store: { path: data }", "pool: { shards: 2 }\nadmin: {}\nserver: { drain: 1s }"), "needs a restart to change store, pool, admin, server"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, answers, oneFilter, map[string][]byte{"mark.wasm": stamp("one")}).serve()
			test.change(b)
			line := b.log.await(t, "reload refused")
			if !strings.Contains(line, test.want) {
				t.Errorf("got %s\nwant %s", line, test.want)
			}
			b.wantStamp("one")
			b.wantMetric(`porch_generation`, "1")
			if _, err := os.Stat(b.path("elsewhere")); err == nil {
				t.Error("a store was made elsewhere")
			}
			b.write("mark.wasm", stamp("two"))
			b.configure(oneFilter)
			b.log.await(t, "reloaded generation=2")
			b.wantStamp("two")
		})
	}
}

// TestUnchangedIsKept asks for a reload of the same files, and of files that differ in one filter.
func TestUnchangedIsKept(t *testing.T) {
	const twoFilters = `
listen: 127.0.0.1:0
upstreams: { app: { targets: [UPSTREAM] } }
filters:
  mark: { module: mark.wasm, timeout: 10s }
  other: { module: other.wasm, timeout: 10s }
routes: [{ path: /, filters: [mark], upstream: app }, { path: /other, filters: [other], upstream: app }]
`
	b := open(t, answers, twoFilters, map[string][]byte{"mark.wasm": stamp("one"), "other.wasm": stamp("other")}).serve()
	b.hangups <- syscall.SIGHUP
	b.log.await(t, "nothing has changed")
	b.wantMetric(`porch_filter_loads_total{filter="mark"}`, "1")
	b.wantMetric(`porch_generation`, "1")
	b.wantMetric(`porch_reloads_total{result="unchanged"}`, "1")

	b.write("mark.wasm", stamp("two"))
	b.log.await(t, "reloaded generation=2")
	b.wantStamp("two")
	b.wantMetric(`porch_filter_loads_total{filter="mark"}`, "2")
	b.wantMetric(`porch_filter_loads_total{filter="other"}`, "1")
	b.wantMetric(`porch_reloads_total{result="applied"}`, "1")
	b.host.retired.Wait()
	b.wantMetric(`porch_filter_versions{filter="mark"}`, "1")
}

// TestRequestsEndOnTheirVersion replaces a filter while a request of the former version is at the upstream.
func TestRequestsEndOnTheirVersion(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	b := open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-leave
		}
	}), oneFilter, map[string][]byte{"mark.wasm": stamp("one")}).serve()
	slow := make(chan string)
	// Stops when the request has ended; the test waits for what it sends.
	go func() {
		_, got := b.get("/slow")
		slow <- got
	}()
	<-arrived
	b.write("mark.wasm", stamp("two"))
	b.log.await(t, "reloaded generation=2")
	b.wantStamp("two")
	b.wantMetric(`porch_filter_versions{filter="mark"}`, "2")

	// Back to the first: the version that drains is not taken into service again.
	b.write("mark.wasm", stamp("one"))
	b.log.await(t, "reloaded generation=3")
	b.wantStamp("one")
	b.wantMetric(`porch_filter_loads_total{filter="mark"}`, "3")
	close(leave)
	if got := <-slow; got != "one" {
		t.Errorf("the request that began on the first version has stamp %q", got)
	}
	b.host.retired.Wait()
	b.wantMetric(`porch_filter_versions{filter="mark"}`, "1")
	b.wantMetric(`porch_filter_instances_in_use{filter="mark",version="`+b.host.live.filters[0].part.ID()+`"}`, "0")
}

// TestCloseDoesNotWaitForAFormerVersion cuts off a request of a version that was replaced.
func TestCloseDoesNotWaitForAFormerVersion(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	yaml := oneFilter + "server: { drain: 1s }\n"
	b := open(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	}), yaml, map[string][]byte{"mark.wasm": stamp("one")}).serve()
	cut := make(chan error)
	// Stops when the request has been cut off; the test waits for it.
	go func() {
		_, err := client.Get("http://" + b.host.Addr().String() + "/")
		cut <- err
	}()
	<-arrived
	b.write("mark.wasm", stamp("two"))
	b.log.await(t, "reloaded generation=2")
	b.end()
	b.log.await(t, "requests were cut off")
	if err := <-cut; err == nil {
		t.Error("a request that was cut off had a response")
	}
	if err := b.host.Close(); err != nil {
		t.Error(err)
	}
	close(leave)
}
