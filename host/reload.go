package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/metrics"
)

// ErrRestart is returned for a reload that changes what only a restart can change.
var ErrRestart = errors.New("host: needs a restart")

// reloads replaces the live generation when a signal asks for it or a file has changed, until ctx ends.
func (h *Host) reloads(ctx context.Context) {
	w := h.watch
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.options.Hangups:
			h.reload(ctx)
		case e := <-w.events():
			if w.concerns(e) {
				quiet.Reset(settle)
			}
		case err := <-w.errors():
			// Events may be lost, so look as after one.
			h.log.Warn("watching files", slog.Any("error", err))
			quiet.Reset(settle)
		case <-quiet.C:
			switch {
			case !w.settled():
				quiet.Reset(settle)
			case w.changed():
				h.reload(ctx)
			}
		}
	}
}

// reload reads the configuration and the modules anew and puts them into service. Whatever is wrong is
// named in the log, and the live generation goes on.
func (h *Host) reload(ctx context.Context) {
	began := time.Now()
	h.watch.mark()
	result, err := h.replace(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		h.refuse(err)
	case result == metrics.Applied:
		h.log.Info("reloaded", slog.Int("generation", h.number), slog.Duration("took", time.Since(began).Round(time.Millisecond)))
	default:
		h.log.Info("reloaded: nothing has changed", slog.Int("generation", h.number))
	}
	h.metrics.Reloaded(result)
}

func (h *Host) replace(ctx context.Context) (metrics.Reload, error) {
	if h.live.config.File == "" {
		return metrics.Unchanged, nil // flags stay as they are
	}
	cfg, err := config.Load(h.live.config.File)
	if err != nil {
		return metrics.Refused, err
	}
	h.follow(h.live.config, cfg)
	if keys := fixed(h.live.config, cfg); len(keys) > 0 {
		return metrics.Refused, fmt.Errorf("%w to change %s; nothing was applied", ErrRestart, strings.Join(keys, ", "))
	}
	next, err := h.builder.build(ctx, cfg)
	if err != nil {
		return metrics.Refused, err
	}
	if next.same(h.live) {
		return metrics.Unchanged, h.builder.close(next)
	}
	h.swap(next)
	return metrics.Applied, nil
}

// refuse logs each mistake on a line of its own.
func (h *Host) refuse(err error) {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		h.log.Error("reload refused, the live configuration goes on", slog.Any("error", err))
		return
	}
	for _, m := range mistakes {
		h.log.Error("reload refused, the live configuration goes on", slog.String("error", m.String()))
	}
}

// swap puts next into service. The generation before is closed when its last request has ended.
func (h *Host) swap(next *generation) {
	old := h.live
	h.live = next
	h.number++
	h.edge.Swap(next.table)
	h.builder.retire(old, next)
	h.metrics.Live(h.number)
	// Stops when the requests that began on the old table have ended, or when Close has cut them off, which
	// waits for it.
	h.retired.Go(func() {
		select {
		case <-old.table.Drained():
		case <-h.closing:
		}
		if err := h.builder.close(old); err != nil {
			h.log.Error("closing what a reload has replaced", slog.Any("error", err))
		}
	})
}

// follow watches the files of configurations: of the live one, and of one that is to replace it, so that a
// refused one is tried again when one of its files changes.
func (h *Host) follow(all ...*config.Config) {
	var watched []string
	for _, cfg := range all {
		watched = append(watched, files(cfg)...)
	}
	if err := h.watch.keep(watched); err != nil {
		h.log.Warn("some changes are not noticed, a signal still reloads", slog.Any("error", err))
	}
}

// files are the files that a configuration is made of, as absolute paths.
func files(cfg *config.Config) []string {
	var all []string
	if file, err := filepath.Abs(cfg.File); err == nil && cfg.File != "" {
		all = append(all, file)
	}
	for _, f := range cfg.Filters {
		if !strings.HasPrefix(f.Module, builtinPrefix) {
			all = append(all, f.Module)
		}
	}
	return all
}

// fixed names the sections in which two configurations differ and which are read at the start alone.
func fixed(live, next *config.Config) []string {
	var keys []string
	for _, section := range []struct {
		key  string
		same bool
	}{
		{"listen", live.Listen == next.Listen},
		{"store", live.Store == next.Store},
		{"pool", live.Pool == next.Pool},
		{"admin", live.Admin == next.Admin},
		{"server", live.Server == next.Server},
	} {
		if !section.same {
			keys = append(keys, section.key)
		}
	}
	return keys
}

// same says whether two generations behave alike: the same parts behind the same routes.
func (g *generation) same(other *generation) bool {
	return slices.Equal(g.filters, other.filters) &&
		slices.Equal(g.upstreams, other.upstreams) &&
		slices.EqualFunc(g.config.Filters, other.config.Filters, func(a, b config.Filter) bool { return a.OnFailure == b.OnFailure }) &&
		slices.Equal(g.config.TrustedProxies, other.config.TrustedProxies) &&
		reflect.DeepEqual(g.config.Routes, other.config.Routes)
}
