// Package filters holds the filters that ship with Porch, one folder each, written with guest/ as anybody
// would write theirs. "make build" builds them into dist, and a binary that is built after that carries them.
package filters

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed dist
var dist embed.FS

var (
	// ErrUnknown is returned for a name that no filter of Porch has.
	ErrUnknown = errors.New("filters: no such filter")
	// ErrNotBuilt is returned by a binary that was built before its filters were.
	ErrNotBuilt = errors.New("filters: this binary was built without its filters; run make build")
)

// known are the filters of Porch, in the order of the alphabet.
var known = []string{"idempotency", "jwt", "ratelimit", "replayguard"}

// Names returns the names that Open knows.
func Names() []string { return slices.Clone(known) }

// Open returns the module of a filter. The caller does not change it.
func Open(name string) ([]byte, error) {
	if !slices.Contains(known, name) {
		return nil, fmt.Errorf("%w: %q (there are %s)", ErrUnknown, name, strings.Join(known, ", "))
	}
	module, err := dist.ReadFile("dist/" + name + ".wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (%s)", ErrNotBuilt, name)
	}
	return module, err
}
