package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/wasmtests/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testCache is the folder of compiled guests that the tests of this checkout share.
func testCache(t testing.TB) string {
	if dir := os.Getenv("PORCH_TEST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(dir, "porch-test")
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newTestEngine(t testing.TB, change ...func(*EngineConfig)) (*Engine, *journal) {
	t.Helper()
	log := new(journal)
	cfg := EngineConfig{
		CacheDir: testCache(t),
		Logger:   slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	e, err := NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, log
}

// decider allows everything. The functions of it that a test sets take the place of that.
type decider struct {
	limit func(name string, spec pool.LimitSpec) (*pool.Policy, error)
	count func(charges []pool.Charge, verdicts []pool.Verdict) (bool, error)
	begin func(key []byte) (*pool.Claim, error)
}

func (d *decider) Limit(_, name string, spec pool.LimitSpec) (*pool.Policy, error) {
	if d.limit != nil {
		return d.limit(name, spec)
	}
	return new(pool.Policy), nil
}

func (d *decider) Once(string, string, pool.OnceSpec) (*pool.Policy, error) {
	return new(pool.Policy), nil
}

func (d *decider) Count(charges []pool.Charge, verdicts []pool.Verdict, _ *pool.Tickets) (bool, error) {
	if d.count != nil {
		return d.count(charges, verdicts)
	}
	for i := range verdicts {
		verdicts[i] = pool.Verdict{Allowed: true, Used: 1, Limit: 10, Remaining: 9}
	}
	return true, nil
}

func (d *decider) Guard(string, string, pool.GuardSpec) (*pool.Policy, error) { return nil, nil }

func (d *decider) Reserve(*pool.Policy, []byte, *pool.Tickets) (pool.Reservation, bool, error) {
	return pool.Reservation{}, true, nil
}

func (d *decider) Begin(_ *pool.Policy, key []byte, _ [32]byte, _ *pool.Tickets) (*pool.Claim, error) {
	if d.begin != nil {
		return d.begin(key)
	}
	return nil, pool.ErrUnavailable
}

func (d *decider) StoreTime() time.Duration { return 42 * time.Second }

// Addresses in the memory of the guests here.
const (
	dataAt   = 1024 // what a test put there
	bufferAt = 8192 // where results go
)

// filter is a module with one page of memory, data at dataAt and code as porch_request.
func filter(data string, code func(m *kit.Module) []kit.Code) []byte {
	m := new(kit.Module)
	body := code(m)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 4, append(body, kit.Const(0))...))
	m.Memory(1)
	m.Data(dataAt, data)
	return m.Bytes()
}

// whenAsked runs code in porch_request for requests that carry the header X-Bad.
func whenAsked(code func(m *kit.Module) []kit.Code) []byte {
	return filter("X-Bad", func(m *kit.Module) []kit.Code {
		get := m.Import(abi.FuncGet)
		asked := kit.Equal(kit.Const(0), kit.Call(get,
			kit.Const(int32(abi.FieldRequestHeader)), kit.Const(dataAt), kit.Const(5), kit.Const(0), kit.Const(0)))
		return []kit.Code{kit.If(asked, code(m)...)}
	})
}

func empty(*kit.Module) []kit.Code { return nil }

func specOf(source []byte) Spec {
	return Spec{
		Filter:    "subject",
		Module:    "./subject.wasm",
		Source:    source,
		Timeout:   5 * time.Second,
		Memory:    1 << 20,
		Instances: 2,
		Decider:   new(decider),
	}
}

func load(t testing.TB, e *Engine, s Spec) *Version {
	t.Helper()
	v, err := e.Load(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func newExchange(header ...string) *exchange.Exchange {
	x := &exchange.Exchange{
		ID:    "id-1",
		Route: "/",
		Peer:  netip.MustParseAddr("192.0.2.1"),
		Request: exchange.Request{
			Method: "GET", Scheme: "http", Held: true,
			Authority: []byte("example.com"), Path: []byte("/a"), RoutePath: []byte("/a"),
		},
	}
	x.Client = x.Peer
	for i := 0; i < len(header); i += 2 {
		x.Request.Header.Add([]byte(header[i]), []byte(header[i+1]))
	}
	x.StartPlaces(1)
	return x
}

func bad() *exchange.Exchange { return newExchange("x-bad", "") }

func causeOf(t *testing.T, err error) Cause {
	t.Helper()
	if err == nil {
		return CauseNone
	}
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("%T is no Failure: %v", err, err)
	}
	return f.Cause
}

func wantCause(t *testing.T, err error, want Cause) {
	t.Helper()
	if got := causeOf(t, err); got != want {
		t.Fatalf("cause %v, want %v: %v", got, want, err)
	}
}

// eachEngine runs a test with the compiler and with the interpreter.
func eachEngine(t *testing.T, f func(t *testing.T, e *Engine, log *journal)) {
	for _, interpreter := range []bool{false, true} {
		t.Run(fmt.Sprintf("interpreter=%v", interpreter), func(t *testing.T) {
			e, log := newTestEngine(t, func(c *EngineConfig) { c.Interpreter = interpreter })
			if !interpreter && !e.Compiles() {
				t.Skip("no compiler on this system")
			}
			f(t, e, log)
		})
	}
}

func wantLog(t *testing.T, log *journal, text string) {
	t.Helper()
	if !strings.Contains(log.String(), text) {
		t.Errorf("the log lacks %q:\n%s", text, log)
	}
}
