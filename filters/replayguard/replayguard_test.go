package main

import (
	"crypto/sha256"
	"path/filepath"
	"testing"

	"github.com/porchedge/porch/guest/guesttest"
)

var exports = guesttest.Filter{Configure: porchConfigure, Request: porchRequest}

// The same scripts run over the built module in filters/golden_test.go.
func TestGolden(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			guesttest.Script(t, path, guesttest.New(t), exports)
		})
	}
}

func TestHashOfNothing(t *testing.T) {
	if sum := sha256.Sum256(nil); string(sum[:]) != hashOfNothing {
		t.Errorf("%x", sum)
	}
}
