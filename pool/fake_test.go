package pool

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/porchedge/porch/store"
)

// machine is a machine whose clocks follow the time of the test.
type machine struct{ started time.Time }

func (m machine) Wall() time.Time         { return time.Now() }
func (m machine) Elapsed() time.Duration  { return time.Since(m.started) }
func (m machine) BootID() (string, error) { return "boot", nil }

// disk lets syncs of the write-ahead log wait.
type disk struct {
	*errorfs.FS

	mu   sync.Mutex
	gate chan struct{} // syncs wait until it is closed; nil if they need not
}

func newDisk(under vfs.FS) *disk {
	d := &disk{}
	d.FS = errorfs.Wrap(under, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if strings.HasSuffix(op.Path, ".log") {
				d.pass()
			}
		}
		return nil
	}))
	return d
}

func (d *disk) pass() {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (d *disk) stall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = make(chan struct{})
}

func (d *disk) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate != nil {
		close(d.gate)
		d.gate = nil
	}
}

// open opens a pool over a store on disk; both are closed with the test, or by close before.
func open(t testing.TB, fs vfs.FS, sc store.Config, pc Config) (p *Pool, close func()) {
	t.Helper()
	sc.FS = fs
	if sc.Path == "" {
		sc.Path = "data"
	}
	if sc.Clock == nil {
		sc.Clock = machine{started: time.Now()}
	}
	s, err := store.Open(sc)
	if err != nil {
		t.Fatal(err)
	}
	pc.Store = s
	p, err = Open(pc)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	close = func() {
		once.Do(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return p, close
}

// limit declares a limit of the filter "f".
func limit(t testing.TB, p *Pool, name string, n int64, window time.Duration) *Policy {
	t.Helper()
	policy, err := p.Limit("f", name, LimitSpec{Limit: n, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// once declares a policy for Begin of the filter "f".
func once(t testing.TB, p *Pool, name string, spec OnceSpec) *Policy {
	t.Helper()
	if spec.TTL == 0 {
		spec.TTL = time.Hour
	}
	policy, err := p.Once("f", name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// open flights, waiters, messages of all shards together.
func (p *Pool) busy() (total ShardStats) {
	for _, s := range p.Stats().Shards {
		total.Flights += s.Flights
		total.Waiters += s.Waiters
		total.Mailbox += s.Mailbox
	}
	return total
}
