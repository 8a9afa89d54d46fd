package acceptance

import (
	"fmt"
	"strings"
)

// config is a configuration as a test wants it. What it leaves out is one upstream, "app", and one route
// to it, "/", through all filters in their order.
type config struct {
	to        string // address of the upstream "app"
	upstream  string // further settings of "app"
	upstreams string // further upstreams, one a line
	pool      string // settings of the pool
	server    string // settings of the server
	filters   []filter
	routes    []string // flow mappings
	further   string   // whole lines at the top level
}

// filter is one entry of filters. config and settings are the inside of flow mappings.
type filter struct {
	name, module, config, settings string
}

// patient lets a filter take its time: tests run beside each other, and none is about a busy machine.
const patient = "timeout: 10s"

func ratelimit(config string) filter {
	return filter{name: "per-client", module: "builtin:ratelimit", config: config, settings: patient}
}

func idempotency(config string) filter {
	return filter{name: "once", module: "builtin:idempotency", config: config, settings: patient}
}

// named is f under another name.
func (f filter) named(name string) filter {
	f.name = name
	return f
}

// yaml writes the file.
func (c config) yaml(listen, admin string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("listen: %s", listen)
	line("admin: { listen: %s }", admin)
	line("store: { path: data }")
	line("pool: { %s }", c.pool)
	if c.server != "" {
		line("server: { %s }", c.server)
	}
	line("upstreams:")
	settings := c.upstream
	if settings != "" {
		settings = ", " + settings
	}
	line("  app: { targets: [\"http://%s\"]%s }", c.to, settings)
	if c.upstreams != "" {
		line("  %s", c.upstreams)
	}
	var names []string
	if len(c.filters) > 0 {
		line("filters:")
	}
	for _, f := range c.filters {
		names = append(names, f.name)
		line("  %s:", f.name)
		line("    module: %q", f.module)
		if f.config != "" {
			line("    config: { %s }", f.config)
		}
		for _, s := range strings.Split(f.settings, ", ") {
			if s != "" {
				line("    %s", s)
			}
		}
	}
	line("routes:")
	routes := c.routes
	if routes == nil {
		routes = []string{fmt.Sprintf("path: /, filters: [%s], upstream: app", strings.Join(names, ", "))}
	}
	for _, r := range routes {
		line("  - { %s }", r)
	}
	if c.further != "" {
		line("%s", c.further)
	}
	return b.String()
}
