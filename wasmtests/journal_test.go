package wasmtests

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a log that tests read and wait for.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and made anew with each line
}

func newJournal() *journal { return &journal{more: make(chan struct{})} }

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.more)
	j.more = make(chan struct{})
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// line waits for a line that holds all parts, and returns it.
func (j *journal) line(t *testing.T, parts ...string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		j.mu.Lock()
		text, more := j.text.String(), j.more
		j.mu.Unlock()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
				return line
			}
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("never logged: %q\n%s", parts, text)
		}
	}
}
