package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/edge"
	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/route"
	"github.com/porchedge/porch/host/edge/upstream"
	"github.com/porchedge/porch/host/metrics"
	"github.com/porchedge/porch/host/wasm"
)

// generation is one configuration, built: immutable, in service until the next one is. Its parts are
// shared with the generations before and after that have them unchanged.
type generation struct {
	config    *config.Config
	table     *edge.Table
	filters   []*use[filterKey, *filter]
	upstreams []*use[upstreamKey, *end]
}

// filterKey is all that a version of a filter depends on. What is equal is not built again.
type filterKey struct {
	name      string
	module    [sha256.Size]byte
	config    string
	timeout   time.Duration
	fuel      int64
	memory    int64
	instances int
	keyDir    string // where relative paths of its keys start
}

// upstreamKey is all that an upstream depends on.
type upstreamKey struct {
	name    string
	targets string
	timeout time.Duration
	host    config.HostPolicy
}

// builder builds generations out of parts that it keeps while a generation has them. One goroutine builds
// at a time.
type builder struct {
	engine    *wasm.Engine
	decider   wasm.Decider
	trial     bool // one instance of each filter will do
	log       *slog.Logger
	metrics   *metrics.Metrics
	filters   shared[filterKey, *filter]
	upstreams shared[upstreamKey, *end]
}

// filter is a version in use.
type filter struct {
	*wasm.Version
	closed func() // lets its series go
}

// Close closes the version.
func (f *filter) Close() error {
	defer f.closed()
	return f.Version.Close()
}

// end is an upstream in use.
type end struct {
	*upstream.Upstream
	closed func() // lets its series go
}

// Close closes the upstream.
func (e *end) Close() error {
	defer e.closed()
	return e.Upstream.Close()
}

// build compiles, configures and warms what cfg needs and is not there yet. On an error, which is
// config.Mistakes with every filter that was refused, nothing of it stays.
func (b *builder) build(ctx context.Context, cfg *config.Config) (*generation, error) {
	g := &generation{config: cfg}
	err := b.fill(ctx, g)
	if err != nil {
		return nil, errors.Join(err, b.close(g))
	}
	return g, nil
}

func (b *builder) fill(ctx context.Context, g *generation) error {
	versions, err := b.versions(ctx, g)
	if err != nil {
		return err
	}
	ends := map[string]*end{}
	for _, u := range g.config.Upstreams {
		e, err := b.upstream(u, g.config.Server.MaxConnections)
		if err != nil {
			return err
		}
		g.upstreams = append(g.upstreams, e)
		ends[u.Name] = e.part
	}
	var routes []edge.Route
	for _, r := range g.config.Routes {
		routes = append(routes, edge.Route{
			Name: r.Name,
			Rule: route.Rule{Host: r.Host, Path: r.Path, Methods: r.Methods},
			Chain: chain.New(chain.Config{
				Places:   places(g.config, r.Filters, versions),
				Upstream: ends[r.Upstream],
				Logger:   b.log,
				Observer: b.metrics,
			}),
		})
	}
	g.table, err = edge.NewTable(routes, g.config.TrustedProxies)
	return err
}

// versions loads the filters of g, by name.
func (b *builder) versions(ctx context.Context, g *generation) (map[string]*filter, error) {
	versions := map[string]*filter{}
	var mistakes config.Mistakes
	for i := range g.config.Filters {
		f := &g.config.Filters[i]
		version, err := b.version(ctx, f, filepath.Dir(g.config.File))
		switch {
		case err == nil:
			g.filters = append(g.filters, version)
			versions[f.Name] = version.part
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			mistakes = append(mistakes, explain(g.config.File, f, err)...)
		}
	}
	if len(mistakes) > 0 {
		mistakes.Sort()
		return nil, mistakes
	}
	return versions, nil
}

func (b *builder) version(ctx context.Context, f *config.Filter, keyDir string) (*use[filterKey, *filter], error) {
	text, err := source(f.Module)
	if err != nil {
		return nil, err
	}
	instances := f.Instances
	if b.trial {
		instances = 1
	}
	key := filterKey{f.Name, sha256.Sum256(text), string(f.Config), f.Timeout, f.Fuel, f.Memory, instances, keyDir}
	return b.filters.acquire(key, func() (*filter, error) {
		v, err := b.engine.Load(ctx, wasm.Spec{
			Filter: f.Name, Module: f.Module, Source: text, Config: f.Config,
			Timeout: f.Timeout, Fuel: f.Fuel, Memory: f.Memory, Instances: instances, Decider: b.decider,
			KeyDir: keyDir,
		})
		if err != nil {
			return nil, err
		}
		return &filter{v, b.metrics.Opened(f.Name, v.ID(), v.Stats)}, nil
	})
}

func (b *builder) upstream(u config.Upstream, connections int) (*use[upstreamKey, *end], error) {
	key := upstreamKey{u.Name, strings.Join(u.Targets, " "), u.Timeout, u.Host}
	return b.upstreams.acquire(key, func() (*end, error) {
		up, err := upstream.New(u, upstream.Options{Logger: b.log, MaxConns: connections})
		if err != nil {
			return nil, err
		}
		return &end{up, b.metrics.UpstreamOpened(u.Name, up.Stats)}, nil
	})
}

func places(cfg *config.Config, names []string, versions map[string]*filter) []chain.Place {
	var all []chain.Place
	for _, name := range names {
		i := slices.IndexFunc(cfg.Filters, func(f config.Filter) bool { return f.Name == name })
		all = append(all, chain.Place{Name: name, Filter: versions[name], Open: cfg.Filters[i].OnFailure == config.FailOpen})
	}
	return all
}

// retire says that old has been replaced by next: versions that next does not have serve only what has
// begun on them.
func (b *builder) retire(old, next *generation) {
	for _, f := range old.filters {
		if !slices.Contains(next.filters, f) {
			b.filters.retire(f)
			f.part.Retire()
		}
	}
}

// close lets the parts of g go. Nothing runs on its table any more.
func (b *builder) close(g *generation) error {
	var errs []error
	for _, f := range g.filters {
		errs = append(errs, b.filters.release(f))
	}
	for _, u := range g.upstreams {
		errs = append(errs, b.upstreams.release(u))
	}
	return errors.Join(errs...)
}

// explain turns what is wrong with a filter into mistakes with their places in the file.
func explain(file string, f *config.Filter, err error) config.Mistakes {
	var rejected *wasm.Rejected
	if !errors.As(err, &rejected) {
		text := strings.TrimPrefix(err.Error(), fmt.Sprintf("filter %q: ", f.Name))
		return config.Mistakes{{File: file, Position: f.ModuleAt, Text: "filters." + f.Name + ": " + text}}
	}
	var mistakes config.Mistakes
	for _, r := range rejected.Reasons {
		mistakes = append(mistakes, config.Mistake{
			File:     file,
			Position: f.At(r.Pointer),
			Text:     "filters." + f.Name + ".config" + strings.ReplaceAll(r.Pointer, "/", ".") + ": " + r.Text,
		})
	}
	return mistakes
}
