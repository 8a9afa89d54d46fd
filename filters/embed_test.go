package filters_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/porchedge/porch/filters"
)

func TestOpenUnknown(t *testing.T) {
	for _, name := range []string{"", "nothing", "README.md", "../embed.go"} {
		if _, err := filters.Open(name); !errors.Is(err, filters.ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Each folder with a main.go is a filter that ships, and the other way round.
func TestNamesAreTheFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if _, err := os.Stat(e.Name() + "/main.go"); err == nil {
			folders = append(folders, e.Name())
		}
	}
	if !slices.Equal(folders, filters.Names()) {
		t.Errorf("folders %v, names %v", folders, filters.Names())
	}
}
