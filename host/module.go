package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/porchedge/porch/filters"
)

// builtinPrefix marks the filters that are inside the program.
const builtinPrefix = "builtin:"

// source reads a module. Errors are for the person who wrote the configuration.
func source(module string) ([]byte, error) {
	if name, ok := strings.CutPrefix(module, builtinPrefix); ok {
		text, err := filters.Open(name)
		if errors.Is(err, filters.ErrUnknown) {
			return nil, fmt.Errorf("module %s: no such filter, allowed: %s", module, strings.Join(filters.Names(), ", "))
		}
		return text, err
	}
	file, err := os.Open(module)
	if err != nil {
		return nil, unreadable(module, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxModule+1))
	if err != nil {
		return nil, unreadable(module, err)
	}
	if len(text) > maxModule {
		return nil, fmt.Errorf("module %s: more than %d bytes", module, maxModule)
	}
	return text, nil
}

// unreadable says why without repeating the path that the error holds.
func unreadable(module string, err error) error {
	var where *fs.PathError
	if errors.As(err, &where) {
		err = where.Err
	}
	return fmt.Errorf("module %s: %w", module, err)
}
