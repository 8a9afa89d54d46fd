package store

import (
	"fmt"
	"log/slog"
)

// pebbleLogger passes on what Pebble has to say. Pebble calls Fatalf when it cannot keep a promise any more,
// and goes on as if all were well should it return; it does not.
type pebbleLogger struct {
	log    *slog.Logger
	health *health
}

func (l pebbleLogger) Infof(format string, args ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.health.die(fmt.Errorf(format, args...))
}
