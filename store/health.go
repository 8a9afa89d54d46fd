package store

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/store/clock"
)

// health says whether decisions can be taken.
type health struct {
	cfg Config
	// why is set once: the store is dead, or closed.
	why atomic.Pointer[error]
	// since is when the commit under way began to keep decisions waiting, by clock.Monotonic; idle if none
	// is under way.
	since atomic.Int64
	// died is closed when the store has died.
	died chan struct{}
	// onDeath settles what can no longer become durable. It is set before anything can fail.
	onDeath func(error)
}

// idle is no time that clock.Monotonic gives.
const idle = math.MinInt64

func newHealth(cfg Config) *health {
	h := &health{cfg: cfg, died: make(chan struct{}), onDeath: func(error) {}}
	h.since.Store(idle)
	return h
}

func (h *health) ready() error {
	if why := h.why.Load(); why != nil {
		return *why
	}
	if h.pending() > h.cfg.Stall {
		return ErrStalled
	}
	return nil
}

// gone is why no operation at all can be decided; nil while the store lives.
func (h *health) gone() error {
	if why := h.why.Load(); why != nil {
		return *why
	}
	return nil
}

func (h *health) pending() time.Duration {
	since := h.since.Load()
	if since == idle {
		return 0
	}
	return clock.Monotonic() - time.Duration(since)
}

// die marks the store dead, fails every open ticket, and tells the owner of the process. It does not
// return: whatever its caller was doing must not go on as if it had worked.
func (h *health) die(cause error) {
	err := fmt.Errorf("%w: %w", ErrDead, cause)
	if h.why.CompareAndSwap(nil, &err) {
		h.onDeath(err)
		close(h.died)
		h.cfg.Logger.Error("the store is dead; restart the process", "error", cause)
		h.cfg.Fatal(err)
	}
	runtime.Goexit()
}

// close marks a living store closed, and returns why it is dead otherwise.
func (h *health) close() error {
	err := ErrClosed
	if h.why.CompareAndSwap(nil, &err) {
		return nil
	}
	return *h.why.Load()
}
