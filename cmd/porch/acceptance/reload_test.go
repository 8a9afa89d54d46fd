package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Names of what a reload came to.
const (
	reloads        = "porch_reloads_total"
	reloadsDone    = `result="applied"`
	reloadsRefused = `result="refused"`
)

// awaitReload returns when one more reload has come to this result.
func (p *process) awaitReload(result string, before metrics) {
	p.t.Helper()
	await(p.t, "a reload with "+result, func() bool {
		return p.metrics().sum(reloads, result) > before.sum(reloads, result)
	})
}

// limitTold is the limit that the route's filter tells now.
func limitTold(t *testing.T, c *client) int64 {
	t.Helper()
	return lastQuota(t, c.send(request{})).limit
}

// A changed file is taken without a signal; the counters stand.
func TestChangedFileIsTaken(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name  string
		write func(p *process, c config)
	}{
		{"renamed over", func(p *process, c config) { p.configure(c) }},
		{"written in place", func(p *process, c config) {
			if err := os.WriteFile(p.file(), []byte(c.yaml(p.listen, p.admin)), 0o644); err != nil {
				p.t.Fatal(err)
			}
		}},
		{"written in pieces", func(p *process, c config) {
			text := c.yaml(p.listen, p.admin)
			f, err := os.Create(p.file())
			if err != nil {
				p.t.Fatal(err)
			}
			defer f.Close()
			for i := range len(text) {
				if _, err := f.WriteString(text[i : i+1]); err != nil {
					p.t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			c := config{to: up.address, filters: []filter{ratelimit("limit: 100, window: 1h")}}
			p := launch(t, c)
			cl := p.client()
			if q := lastQuota(t, cl.send(request{})); q.limit != 100 || q.remaining != 99 {
				t.Errorf("before: %+v", q)
			}
			c.filters[0].config = "limit: 200, window: 1h"
			way.write(p, c)
			await(t, "the new limit", func() bool { return limitTold(t, cl) == 200 })
			q := lastQuota(t, cl.send(request{}))
			if used := q.limit - q.remaining; used != int64(len(up.rows())) {
				t.Errorf("%d counted of %d", used, len(up.rows()))
			}
		})
	}
}

// SIGHUP takes the file, also where nothing tells of its change: here the file is a link, and what it
// points to lies elsewhere.
func TestSignalReloads(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := config{to: up.address, filters: []filter{ratelimit("limit: 100, window: 1h")}}
	p := prepare(t, c)
	elsewhere := filepath.Join(t.TempDir(), "real.yaml")
	if err := os.Rename(p.file(), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, p.file()); err != nil {
		t.Fatal(err)
	}
	p.begin()
	c.filters[0].config = "limit: 200, window: 1h"
	if err := os.WriteFile(elsewhere, []byte(c.yaml(p.listen, p.admin)), 0o644); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	cl := p.client()
	await(t, "the new limit", func() bool { return limitTold(t, cl) == 200 })
}

// Routes and upstreams change with it; requests in flight end on what they began with.
func TestRequestsEndWhereTheyBegan(t *testing.T) {
	t.Parallel()
	old, next := newUpstream(t), newUpstream(t)
	c := config{to: old.address, filters: []filter{ratelimit("limit: 100, window: 1h"), idempotency("ttl: 1h")}}
	p := launch(t, c)
	old.hold()
	order := request{key: "k", body: "order"}
	owner := p.client().startAll(1, always(order))
	held := old.arrival()
	waiter := p.client().startAll(1, always(order))
	p.awaitWaiters(1)

	c.to = next.address
	c.filters[0].config = "limit: 200, window: 1h"
	before := p.metrics()
	p.configure(c)
	p.awaitReload(reloadsDone, before)
	cl := p.client()
	if limit := limitTold(t, cl); limit != 200 {
		t.Errorf("limit %d", limit)
	}
	// A duplicate that arrives on the new generation joins the flight of the old one.
	late := p.client().startAll(1, always(order))
	p.awaitWaiters(2)
	held.answers <- answer{status: 201, body: "made before"}
	first := owner()[0]
	if first.status != 201 || first.body != "made before" {
		t.Errorf("the owner has %d %q", first.status, first.body)
	}
	wantReplay(t, waiter()[0], first)
	wantReplay(t, late()[0], first)
	wantReplay(t, cl.send(order), first)
	old.wantRows(1)
}

// A20: what is wrong is refused with its reason by name, and the live version goes on.
func TestWrongReloadIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *process, c *config)
		words  []string
	}{
		{"broken module", func(p *process, c *config) {
			p.replace("other.wasm", []byte("\x00asm\x01\x00\x00\x00 and then nothing"))
			c.filters[0].module = "./other.wasm"
		}, []string{"per-client", "other.wasm"}},
		{"no module", func(p *process, c *config) {
			p.replace("other.wasm", []byte("#!/bin/sh\n"))
			c.filters[0].module = "./other.wasm"
		}, []string{"per-client", "other.wasm"}},
		{"unknown import", func(p *process, c *config) {
			p.replace("other.wasm", unknownImport())
			c.filters[0].module = "./other.wasm"
		}, []string{"per-client", "teleport"}},
		{"no exports", func(p *process, c *config) {
			p.replace("other.wasm", noExports())
			c.filters[0].module = "./other.wasm"
		}, []string{"per-client", "porch_request"}},
		{"module that is gone", func(p *process, c *config) { c.filters[0].module = "./gone.wasm" }, []string{"gone.wasm"}},
		{"bad configuration of a filter", func(p *process, c *config) { c.filters[0].config = "limit: -1, window: 1h" },
			[]string{"limit", "-1"}},
		{"unknown key", func(p *process, c *config) { c.further = "lisen: here" }, []string{"lisen", "listen"}},
		{"not YAML", func(p *process, c *config) { c.further = "{ [" }, []string{"porch.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			good := config{to: up.address, filters: []filter{ratelimit("limit: 100, window: 1h")}}
			p := launch(t, good)
			cl := p.client()
			cl.send(request{})
			before := p.metrics()
			bad := good
			bad.filters = append([]filter(nil), good.filters...)
			c.change(p, &bad)
			p.configure(bad)
			p.awaitReload(reloadsRefused, before)
			for _, w := range c.words {
				if !strings.Contains(p.stderr.String(), w) {
					t.Errorf("the log does not name %q", w)
				}
			}
			q := lastQuota(t, cl.send(request{}))
			if q.limit != 100 || q.remaining != 98 {
				t.Errorf("after: %+v", q)
			}
			if p.readiness() != http.StatusOK {
				t.Error("not ready")
			}
			// Once the file is right again it is taken.
			good.filters[0].config = "limit: 200, window: 1h"
			p.configure(good)
			await(t, "the right file", func() bool { return limitTold(t, cl) == 200 })
		})
	}
}

// A file that is gone for a moment changes nothing.
func TestRemovedFileIsRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := config{to: up.address, filters: []filter{ratelimit("limit: 100, window: 1h")}}
	p := launch(t, c)
	if err := os.Remove(p.file()); err != nil {
		t.Fatal(err)
	}
	before := p.metrics()
	p.signal(syscall.SIGHUP)
	p.awaitReload(reloadsRefused, before)
	cl := p.client()
	if limit := limitTold(t, cl); limit != 100 {
		t.Errorf("limit %d", limit)
	}
	c.filters[0].config = "limit: 200, window: 1h"
	p.configure(c)
	await(t, "the file is back", func() bool { return limitTold(t, cl) == 200 })
}

// What needs a restart is named, and the rest is taken.
func TestRestartOnlyKeysAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key    string
		change func(text string, p *process) string
	}{
		{"listen", func(text string, p *process) string { return strings.Replace(text, p.listen, "127.0.0.1:1", 1) }},
		{"store", func(text string, p *process) string { return strings.Replace(text, "path: data", "path: elsewhere", 1) }},
		{"pool", func(text string, p *process) string {
			return strings.Replace(text, "pool: {  }", "pool: { shards: 3 }", 1)
		}},
	} {
		t.Run(c.key, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			cfg := config{to: up.address, filters: []filter{ratelimit("limit: 100, window: 1h")}}
			p := launch(t, cfg)
			text := cfg.yaml(p.listen, p.admin)
			changed := c.change(text, p)
			if changed == text {
				t.Fatal("nothing changed")
			}
			logged := len(p.stderr.String())
			p.replace("porch.yaml", []byte(changed))
			await(t, "the need of a restart is told", func() bool {
				news := p.stderr.String()[logged:]
				return strings.Contains(news, "restart") && strings.Contains(news, c.key)
			})
			if limit := limitTold(t, p.client()); limit != 100 {
				t.Errorf("limit %d", limit)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "elsewhere")); err == nil {
				t.Error("a store was made elsewhere")
			}
		})
	}
}

// What did not change is not built anew: its version goes on.
func TestUnchangedFilterIsKept(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := config{to: up.address,
		filters: []filter{ratelimit("limit: 100, window: 1h"), ratelimit("limit: 50, window: 1h").named("other")},
		routes:  []string{"path: /, filters: [per-client], upstream: app", "path: /other, filters: [other], upstream: app"}}
	p := launch(t, c)
	cl := p.client()
	loads := func() map[string]float64 {
		m := p.metrics()
		return map[string]float64{
			"per-client": m.sum(filterLoads, `filter="per-client"`),
			"other":      m.sum(filterLoads, `filter="other"`),
		}
	}
	before := loads()
	c.filters[0].config = "limit: 200, window: 1h"
	p.configure(c)
	await(t, "the new limit", func() bool { return limitTold(t, cl) == 200 })
	after := loads()
	if after["per-client"] != before["per-client"]+1 || after["other"] != before["other"] {
		t.Errorf("built %v, before %v", after, before)
	}
}

// filterLoads counts the versions of a filter that were built.
const filterLoads = "porch_filter_loads_total"

// A module that changes under its name is taken like a changed file.
func TestChangedModuleIsTaken(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, config{to: up.address, filters: []filter{{name: "stamp", module: "./stamp.wasm"}}})
	p.replace("stamp.wasm", stamp("one"))
	p.begin()
	c := p.client()
	if got := c.send(request{}).header.Get("X-Stamp"); got != "one" {
		t.Errorf("X-Stamp %q", got)
	}
	for i := range 3 {
		next := fmt.Sprintf("%d", i)
		p.replace("stamp.wasm", stamp(next))
		await(t, "the next module", func() bool { return c.send(request{}).header.Get("X-Stamp") == next })
	}
}
