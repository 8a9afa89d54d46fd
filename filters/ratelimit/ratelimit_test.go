package main

import (
	"path/filepath"
	"testing"

	"github.com/porchedge/porch/guest/guesttest"
)

var exports = guesttest.Filter{Configure: porchConfigure, Request: porchRequest, Response: porchResponse}

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
