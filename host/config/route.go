package config

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// routes reads the list of routes. Filters and upstreams are read before, so names can be checked.
func (r *reader) routes(s *section, cfg *Config) []Route {
	var routes []Route
	filters, upstreams := filterNames(cfg), upstreamNames(cfg)
	var places []Position
	s.list("routes", "routes", maxNames, func(path string, n *yaml.Node) {
		route := r.route(path, n, filters, upstreams)
		for i := range routes {
			if overlap(&routes[i], &route) {
				r.mistake(at(n), "%s: the same requests as the route on line %d, allowed: another host, path or methods", path, places[i].Line)
				break
			}
		}
		routes, places = append(routes, route), append(places, at(n))
	})
	s.requireSome("routes", "a list with at least one route")
	return routes
}

func (r *reader) route(path string, n *yaml.Node, filters, upstreams []string) Route {
	s := r.section(path, n)
	route := Route{
		Host:    s.text("host", "", "a host name", parseRouteHost),
		Path:    s.text("path", "", "a path", parseRoutePath),
		Methods: values(s.words("methods", "methods", 64, parseMethod)),
	}
	s.require("path", "a path; / for every path")
	s.refuseNone("methods", "at least one method; leave it out for any")
	for _, w := range s.words("filters", "names of filters", maxTargets, parseAny) {
		if !slices.Contains(filters, w.value) {
			r.unknown(w.at, w.path, "filter", w.value, filters)
		}
		route.Filters = append(route.Filters, w.value)
	}
	route.Upstream = s.text("upstream", "", "the name of an upstream", parseAny)
	if n := s.find("upstream"); route.Upstream != "" && !slices.Contains(upstreams, route.Upstream) {
		r.unknown(at(n), s.under("upstream"), "upstream", route.Upstream, upstreams)
	}
	s.require("upstream", "the name of an upstream")
	s.end()
	route.Name = route.Host + route.Path
	return route
}

// overlap says whether two routes claim the same requests with equal right. A route with methods goes
// before the one without.
func overlap(a, b *Route) bool {
	if a.Host != b.Host || a.Path != b.Path || a.Path == "" {
		return false
	}
	if len(a.Methods) == 0 || len(b.Methods) == 0 {
		return len(a.Methods) == len(b.Methods)
	}
	return slices.ContainsFunc(a.Methods, func(m string) bool { return slices.Contains(b.Methods, m) })
}

func filterNames(cfg *Config) []string {
	var names []string
	for i := range cfg.Filters {
		names = append(names, cfg.Filters[i].Name)
	}
	return names
}

func upstreamNames(cfg *Config) []string {
	var names []string
	for i := range cfg.Upstreams {
		names = append(names, cfg.Upstreams[i].Name)
	}
	return names
}
