package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Load reads and checks a file. What is wrong with its text comes back as Mistakes.
func Load(file string) (*Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(file, text)
}

// Parse checks the text of a file. Relative paths in it are relative to the file's directory. An error is
// always Mistakes, every one there is.
func Parse(file string, text []byte) (*Config, error) {
	r := &reader{file: file}
	cfg := Defaults()
	cfg.File = file
	if root := r.document(text); root != nil {
		r.config(&cfg, root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return &cfg, nil
}

func (r *reader) config(cfg *Config, root *yaml.Node) {
	s := r.section("", root)
	beside := beside(filepath.Dir(cfg.File))
	cfg.Listen = s.text("listen", cfg.Listen, listenAllowed, parseListen)
	cfg.TrustedProxies = trustedProxies(s)
	r.store(&cfg.Store, s.find("store"), beside)
	r.pool(&cfg.Pool, s.find("pool"))
	r.admin(&cfg.Admin, s.find("admin"))
	r.server(&cfg.Server, s.find("server"))
	cfg.Upstreams = named(s, "upstreams", r.upstream)
	cfg.Filters = named(s, "filters", func(path, name string, n *yaml.Node) Filter {
		return r.filter(path, name, n, beside)
	})
	cfg.Routes = r.routes(s, cfg)
	s.end()
}

// beside gives the parser of paths that are relative to dir.
func beside(dir string) func(string) (string, error) {
	return func(text string) (string, error) {
		if text == "" {
			return "", errors.New(`"" is not a path, allowed: an absolute path or one relative to this file`)
		}
		if filepath.IsAbs(text) {
			return filepath.Clean(text), nil
		}
		return filepath.Abs(filepath.Join(dir, text))
	}
}

func trustedProxies(s *section) []netip.Prefix {
	var proxies []netip.Prefix
	s.words("trusted_proxies", proxyAllowed, maxNames, func(text string) (string, error) {
		prefix, err := parseProxy(text)
		if err == nil && !slices.Contains(proxies, prefix) {
			proxies = append(proxies, prefix)
		}
		return prefix.String(), err
	})
	return proxies
}

func (r *reader) store(st *Store, n *yaml.Node, beside func(string) (string, error)) {
	s := r.section("store", n)
	if path, err := beside(st.Path); err == nil {
		st.Path = path
	}
	st.Path = s.text("path", st.Path, "a directory", beside)
	st.Stall = s.duration("stall", st.Stall, 10*time.Millisecond, time.Hour)
	st.SyncInterval = s.duration("sync_interval", st.SyncInterval, time.Millisecond, time.Minute)
	s.end()
}

func (r *reader) pool(p *Pool, n *yaml.Node) {
	s := r.section("pool", n)
	p.Shards = s.count("shards", p.Shards, 1, maxShards)
	p.Mailbox = s.count("mailbox", p.Mailbox, 1, maxMailbox)
	s.end()
}

func (r *reader) admin(a *Admin, n *yaml.Node) {
	if n == nil {
		return
	}
	s := r.section("admin", n)
	a.Listen = s.text("listen", defaultAdmin, listenAllowed, parseListen)
	s.end()
}

func (r *reader) server(v *Server, n *yaml.Node) {
	s := r.section("server", n)
	v.MaxHead = int(s.size("max_head", int64(v.MaxHead), 1<<10, 1<<20))
	v.MaxBody = s.size("max_body", v.MaxBody, 1, 1<<50)
	v.MaxConnections = s.count("max_connections", v.MaxConnections, 1, 1<<20)
	v.IdleTimeout = s.duration("idle_timeout", v.IdleTimeout, time.Second, time.Hour)
	v.MinRate = s.size("min_rate", v.MinRate, 1, 1<<30)
	v.Drain = s.duration("drain", v.Drain, time.Second, time.Hour)
	s.end()
}

// named reads a mapping from names to values, in the order of the file.
func named[T any](s *section, key string, read func(path, name string, n *yaml.Node) T) []T {
	n := s.find(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.mistake(n, key, "%s is not allowed here, allowed: a mapping from names", describe(n))
		return nil
	}
	pairs := s.r.pairs(key, n)
	if len(pairs) > maxNames {
		s.mistake(n, key, "%d entries, allowed: at most %d", len(pairs), maxNames)
		return nil
	}
	var all []T
	for _, p := range pairs {
		if err := checkName(p.name); err != nil {
			s.r.mistake(at(p.key), "%s: %v", key, err)
		}
		all = append(all, read(key+"."+p.name, p.name, p.value))
	}
	return all
}

func (r *reader) upstream(path, name string, n *yaml.Node) Upstream {
	u := defaultUpstream(name)
	s := r.section(path, n)
	u.Targets = values(s.words("targets", targetAllowed, maxTargets, parseTarget))
	s.requireSome("targets", "a list of "+targetAllowed)
	u.Timeout = s.duration("timeout", u.Timeout, time.Millisecond, 24*time.Hour)
	u.Host = HostPolicy(s.choice("host", "client", "target"))
	s.end()
	return u
}

const moduleAllowed = "builtin:NAME or the path of a .wasm file"

func (r *reader) filter(path, name string, n *yaml.Node, beside func(string) (string, error)) Filter {
	f := defaultFilter(name)
	s := r.section(path, n)
	f.Module = s.text("module", "", moduleAllowed, func(text string) (string, error) {
		if builtin, ok := strings.CutPrefix(text, "builtin:"); ok {
			if checkName(builtin) != nil {
				return "", fmt.Errorf("%s names no built-in filter, allowed: %s", quote(text), moduleAllowed)
			}
			return text, nil
		}
		return beside(text)
	})
	s.require("module", moduleAllowed)
	f.ModuleAt = s.at(s.find("module"))
	if c := s.find("config"); c != nil && !isNull(c) {
		f.Config, f.At = r.guestConfig(path+".config", c)
	} else {
		f.At = positions{"": s.at(c)}.find
	}
	f.Timeout = s.duration("timeout", f.Timeout, time.Millisecond, time.Minute)
	f.Fuel = int64(s.count("fuel", int(f.Fuel), 10_000, 1<<40))
	f.Memory = s.size("memory", f.Memory, 1<<16, 1<<32)
	f.Instances = s.count("instances", f.Instances, 1, 4096)
	f.OnFailure = OnFailure(s.choice("on_failure", "closed", "open"))
	s.end()
	return f
}
