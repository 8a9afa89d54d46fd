// Package host builds a running Porch from a configuration: the filters, the upstreams and the routes of
// one generation over the pool and its store, the listeners before them, and the reload that replaces a
// generation under traffic. cmd/porch calls it. What a crash must not undo lies in the store; all else is
// built anew from the configuration at the next start.
package host

import (
	"errors"
	"log/slog"
	"os"
)

// ErrStoreDead is returned by Run when the store failed for good: nothing more is served, what was
// acknowledged is on disk, and a new start goes on from there.
var ErrStoreDead = errors.New("host: the store has failed; start again")

// Options are what does not come from the configuration.
type Options struct {
	Logger  *slog.Logger
	Version string // of the program, for metrics
	// CacheDir keeps compiled filters from one start to the next; empty keeps them in memory.
	CacheDir string
	// Hangups ask for a reload; nil for none.
	Hangups <-chan os.Signal
}
