package store

import (
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// machine is a machine whose clocks follow the bubble's time, until somebody steps or reboots it.
type machine struct {
	boot     string
	started  time.Time
	wallStep time.Duration
}

func newMachine() *machine { return &machine{boot: "first", started: time.Now()} }

func (m *machine) Wall() time.Time         { return time.Now().Add(m.wallStep) }
func (m *machine) Elapsed() time.Duration  { return time.Since(m.started) }
func (m *machine) BootID() (string, error) { return m.boot, nil }

func (m *machine) reboot(boot string) { m.boot, m.started = boot, time.Now() }

// disk lets syncs of the write-ahead log wait or fail.
type disk struct {
	*errorfs.FS

	mu    sync.Mutex
	gate  chan struct{} // syncs wait until it is closed; nil if they need not
	fails int           // this sync fails, counted down from here; 0 if none
	hits  int           // syncs that failed
}

func newDisk(under vfs.FS) *disk {
	d := &disk{}
	d.FS = errorfs.Wrap(under, errorfs.InjectorFunc(d.maybeError))
	return d
}

func (d *disk) maybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	default:
		return nil
	}
	if !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails > 0 {
		if d.fails--; d.fails == 0 {
			d.hits++
			return errorfs.ErrInjected
		}
	}
	return nil
}

func (d *disk) stall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = make(chan struct{})
}

func (d *disk) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.gate)
	d.gate = nil
}

func (d *disk) failSync(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = n
}

// key is a row key that a reader of a test can tell from others.
func key(name string) (k RowKey) {
	copy(k[:], name)
	return k
}
