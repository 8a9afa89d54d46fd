package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/host/admin"
	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/edge"
	"github.com/porchedge/porch/host/metrics"
	"github.com/porchedge/porch/host/wasm"
)

// Why the host is not ready.
var (
	errStarting = errors.New("starting")
	errDraining = errors.New("draining")
)

// Host is a Porch: open, and serving while Run runs.
type Host struct {
	options  Options
	log      *slog.Logger
	metrics  *metrics.Metrics
	engine   *wasm.Engine
	listener net.Listener
	admin    *admin.Server // nil without an admin listener
	state    *state
	builder  *builder
	edge     *edge.Server
	unready  atomic.Pointer[error] // nil while requests are served
	watch    *watch
	// drainAtMost is how long requests in flight may take to end.
	drainAtMost time.Duration

	// Of the goroutine that reloads, and of others only while it does not run.
	live   *generation
	number int // of the live generation

	retired sync.WaitGroup // generations that drain
	closing chan struct{}  // closed by Close: nothing is waited for any more
	closed  bool
}

// Check builds everything that cfg describes but its store and its listeners, and lets it go again. It
// changes nothing on disk. An error that is about the configuration is config.Mistakes.
func Check(ctx context.Context, cfg *config.Config, o Options) error {
	h := &Host{options: o, log: o.Logger, metrics: metrics.New(o.Version)}
	if err := h.openEngine(); err != nil {
		return err
	}
	trial, err := h.try(ctx, cfg)
	if err == nil {
		err = trial.close()
	}
	return errors.Join(err, h.engine.Close())
}

// Open builds a host. What can be wrong without the disk is found first: the filters, then the addresses;
// so a start that fails has made no data directory. On an error everything is closed again.
func Open(ctx context.Context, cfg *config.Config, o Options) (*Host, error) {
	h := &Host{options: o, log: o.Logger, metrics: metrics.New(o.Version), closing: make(chan struct{})}
	h.unready.Store(&errStarting)
	if err := h.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Host) open(ctx context.Context, cfg *config.Config) error {
	h.drainAtMost = cfg.Server.Drain
	// Before anything is read, so that no change from here on is lost.
	h.watch = openWatch(h.log)
	h.follow(cfg)
	if err := h.openEngine(); err != nil {
		return err
	}
	// The trial stays until the live generation is built, so that nothing is compiled twice.
	trial, err := h.try(ctx, cfg)
	if err != nil {
		return err
	}
	defer trial.close()
	if h.listener, err = bind("listen", cfg.Listen); err != nil {
		return err
	}
	if err := h.openAdmin(cfg.Admin); err != nil {
		return err
	}
	if h.state, err = openState(cfg, h.log, h.metrics); err != nil {
		return err
	}
	h.builder = h.newBuilder(h.state.pool)
	if h.live, err = h.builder.build(ctx, cfg); err != nil {
		return err
	}
	h.number = 1
	h.metrics.Live(h.number)
	h.edge = edge.New(edge.Config{Server: cfg.Server, Logger: h.log, Observer: h.metrics}, h.live.table)
	h.metrics.EdgeOpened(h.edge.Stats)
	return nil
}

func (h *Host) openEngine() (err error) {
	h.engine, err = wasm.NewEngine(wasm.EngineConfig{CacheDir: h.options.CacheDir, Logger: h.log, Observer: h.metrics})
	return err
}

func (h *Host) newBuilder(d wasm.Decider) *builder {
	return &builder{engine: h.engine, decider: d, log: h.log, metrics: h.metrics}
}

// trial is a generation without a pool, to see whether it can be built.
type trial struct {
	*builder
	*generation
}

// try builds cfg with one instance of each filter and policies that are declared to nobody.
func (h *Host) try(ctx context.Context, cfg *config.Config) (*trial, error) {
	b := h.newBuilder(declarer{})
	b.trial = true
	b.metrics = metrics.New(h.options.Version) // nobody reads them
	g, err := b.build(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &trial{b, g}, nil
}

func (t *trial) close() error { return t.builder.close(t.generation) }

func (h *Host) openAdmin(cfg config.Admin) error {
	if cfg.Listen == "" {
		return nil
	}
	l, err := bind("admin.listen", cfg.Listen)
	if err != nil {
		return err
	}
	h.admin = admin.New(admin.Config{Listener: l, Ready: h.Ready, Metrics: h.metrics.Handler(), Logger: h.log})
	return nil
}

func bind(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		// The operation and the address are said once.
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", key, address, err)
	}
	return l, nil
}

// Addr is where clients are served.
func (h *Host) Addr() net.Addr { return h.listener.Addr() }

// Ready is nil while requests are served and decided, else the reason why not.
func (h *Host) Ready() error {
	if why := h.unready.Load(); why != nil {
		return *why
	}
	return h.state.ready()
}

// Run opens a host, serves until ctx ends, and closes it.
func Run(ctx context.Context, cfg *config.Config, o Options) error {
	h, err := Open(ctx, cfg, o)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // ended while it started
	case err != nil:
		return err
	}
	err = h.Run(ctx)
	if errors.Is(err, ErrStoreDead) {
		return err // closing would wait for a disk that may not answer; the process ends
	}
	return errors.Join(err, h.Close())
}

// Run serves until ctx ends, then drains: requests in flight end, new ones are not taken. It returns nil,
// also when the drain had to be cut short; ErrStoreDead, without a drain, when the store has failed.
func (h *Host) Run(ctx context.Context) error {
	// Loading filters leaves more garbage than what stays, and a quiet server would keep it for long.
	debug.FreeOSMemory()
	h.announce()
	h.unready.Store(nil)
	served := make(chan error, 1) // one result
	// Stops when the edge is shut down, which happens below on every path.
	go func() { served <- h.edge.Serve(h.listener) }()
	reloading, stopReloading := context.WithCancel(ctx)
	reloaded := make(chan struct{})
	// Stops when ctx or this function ends, which waits for it.
	go func() {
		defer close(reloaded)
		h.reloads(reloading)
	}()

	var failed error
	select {
	case <-ctx.Done():
	case <-h.state.alive.Done():
	case failed = <-served:
		served <- nil
	}
	h.unready.Store(&errDraining)
	stopReloading()
	h.drain()
	<-reloaded
	if h.state.alive.Err() != nil {
		h.unready.Store(&ErrStoreDead)
		failed = ErrStoreDead
	}
	return errors.Join(failed, <-served)
}

// drain lets requests in flight end, for a while; not at all once the store is dead.
func (h *Host) drain() {
	h.log.Info("draining", slog.Duration("at_most", h.drainAtMost))
	ctx, cancel := context.WithTimeout(h.state.alive, h.drainAtMost)
	defer cancel()
	if err := h.edge.Shutdown(ctx); err != nil {
		h.log.Warn("requests were cut off", slog.Any("error", err))
	}
}

// Close lets everything go, the last opened first: requests before what decides for them, decisions before
// the store, and the operator's page when there is nothing more to tell. It may be called again.
func (h *Host) Close() error {
	if h.closed {
		return nil
	}
	h.closed = true
	close(h.closing)
	var errs []error
	if h.listener != nil {
		// A drain has closed it; an open that failed has not.
		if err := h.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	h.retired.Wait()
	if h.watch != nil {
		errs = append(errs, h.watch.Close())
	}
	if h.live != nil {
		errs = append(errs, h.builder.close(h.live))
	}
	if h.state != nil {
		errs = append(errs, h.state.close())
	}
	if h.admin != nil {
		errs = append(errs, h.admin.Close())
	}
	if h.engine != nil {
		errs = append(errs, h.engine.Close())
	}
	return errors.Join(errs...)
}

// announce says in one line where clients are served, where requests go, and where rows are kept.
func (h *Host) announce() {
	cfg := h.live.config
	var to []string
	for _, u := range cfg.Upstreams {
		to = append(to, u.Targets...)
	}
	line := []any{
		slog.String("listen", h.Addr().String()),
		slog.String("to", strings.Join(to, " ")),
		slog.String("data", cfg.Store.Path),
	}
	if h.admin != nil {
		line = append(line, slog.String("admin", cfg.Admin.Listen))
	}
	h.log.Info("serving", line...)
}
