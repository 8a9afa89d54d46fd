// Package upstream sends an exchange's request to where its route ends and brings the response back. The
// chain calls it, from the goroutine that serves the request.
//
// The pool of connections is fasthttp's; writing requests and reading responses is our own. fasthttp reads a
// response only after the whole request is written, takes bytes that nobody asked for as the next response,
// keeps hop-by-hop fields, accepts ambiguous framing and knows fields only without their order. Our own code
// is strict where a mistake would give one client another's answer, and says whether a byte was sent.
//
// Nothing here survives a crash. A request is never sent twice: once a byte is out, a failure is final.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

// Options are what does not come from the configuration of an upstream. Zero takes the default.
type Options struct {
	Logger *slog.Logger
	// MaxConns bounds the connections to one target: 16,384.
	MaxConns int
	// MaxWaiting bounds the requests that wait for one of them: 1,024.
	MaxWaiting int
	// WaitTimeout bounds how long they wait: 1 s.
	WaitTimeout time.Duration
	// ConnectTimeout bounds a dial: 5 s, or the upstream's timeout if that is shorter.
	ConnectTimeout time.Duration
	// IdleTimeout is how long an unused connection stays open: 30 s.
	IdleTimeout time.Duration
}

func (o Options) withDefaults(timeout time.Duration) Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxConns = cmp.Or(o.MaxConns, 16384)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 1024)
	o.WaitTimeout = cmp.Or(o.WaitTimeout, time.Second)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, min(5*time.Second, timeout))
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	return o
}

// Upstream is a set of targets that serve the same requests. Any number of goroutines may use it.
type Upstream struct {
	name    string
	timeout time.Duration
	host    config.HostPolicy
	log     *slog.Logger
	targets []*target
	turn    atomic.Uint32 // round robin over the targets
	stop    context.CancelFunc
}

// New readies an upstream. It connects to nothing yet.
func New(cfg config.Upstream, o Options) (*Upstream, error) {
	if len(cfg.Targets) == 0 {
		return nil, fmt.Errorf("upstream %s: no targets", cfg.Name)
	}
	if cfg.Timeout <= 0 {
		return nil, fmt.Errorf("upstream %s: timeout %v: must be above zero", cfg.Name, cfg.Timeout)
	}
	o = o.withDefaults(cfg.Timeout)
	ctx, stop := context.WithCancel(context.Background())
	u := &Upstream{name: cfg.Name, timeout: cfg.Timeout, host: cfg.Host, log: o.Logger, stop: stop}
	for _, text := range cfg.Targets {
		to, err := url.Parse(text)
		if err != nil || to.Scheme != "http" || to.Host == "" {
			stop()
			return nil, fmt.Errorf("upstream %s: target %q: want http://host:port", cfg.Name, text)
		}
		u.targets = append(u.targets, newTarget(ctx, to, o))
	}
	return u, nil
}

// Forward sends x.Request and fills x.Response, whose Body is whole in Bytes where it was short and had
// arrived with the head, else a Stream that fails with an *Error when it is cut short. The Stream may still
// be reading x.Request.Stream, until it is closed: an upstream may answer while it is being sent to.
// Content-Length is among the fields only where the body that it tells of is not sent (HEAD, 304); the
// framing of all others is in Body. An error is always an *Error; x.Response then holds no body.
func (u *Upstream) Forward(x *exchange.Exchange) error {
	c, err := u.acquire()
	if err != nil {
		return failure(err, false)
	}
	s := sending{upstream: u, conn: c, x: x}
	return s.run()
}

// acquire takes a connection to the target whose turn it is, or to the next one: nothing was sent yet.
func (u *Upstream) acquire() (*conn, error) {
	turn := u.turn.Add(1)
	var errs []error
	for i := range uint32(len(u.targets)) {
		t := u.targets[(turn+i)%uint32(len(u.targets))]
		c, err := t.acquire(u.unasked)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// unasked is called when a connection is discarded because of what the upstream sent on it.
func (u *Upstream) unasked() {
	u.log.LogAttrs(context.Background(), slog.LevelWarn, "upstream sent bytes that no request asked for; connection closed",
		slog.String("upstream", u.name))
}

// Stats is a snapshot of an upstream's connections, over all its targets.
type Stats struct {
	Open  int // connections, those being dialled among them
	Idle  int
	InUse int // acquired, or waited for

	Dials       uint64 // since New
	DialsFailed uint64
	Stale       uint64 // connections discarded when they were looked at before use
	Early       uint64 // requests whose rest was not sent, since their response had ended
}

// Stats returns the present numbers.
func (u *Upstream) Stats() Stats {
	var s Stats
	for _, t := range u.targets {
		s.Open += t.pool.ConnsCount()
		s.Idle += t.pool.IdleConnsCount()
		s.InUse += int(t.inUse.Load())
		s.Dials += t.dials.Load()
		s.DialsFailed += t.failed.Load()
		s.Stale += t.stale.Load()
		s.Early += t.early.Load()
	}
	return s
}

// Close ends dials and closes the idle connections. Those in use are closed when their exchange ends; the
// caller lets exchanges end first. The pool's own sweeper sleeps for at most the idle timeout and then ends.
func (u *Upstream) Close() error {
	u.stop()
	for _, t := range u.targets {
		t.pool.CloseIdleConnections()
	}
	return nil
}
