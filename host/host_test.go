package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/filters"
	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/wasmtests/kit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp ends these by itself, some time after it is closed.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// stamp is a filter that sets X-Stamp on every response.
func stamp(value string) []byte {
	var m kit.Module
	set := m.Import(abi.FuncSet)
	const name = "X-Stamp"
	m.Memory(1)
	m.Data(0, name+value)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Call(set,
		kit.Const(int32(abi.FieldResponseHeader)),
		kit.Const(0), kit.Const(int32(len(name))),
		kit.Const(int32(len(name))), kit.Const(int32(len(value))))))
	return m.Bytes()
}

// strange imports a function that no host has.
func strange() []byte {
	var m kit.Module
	m.ImportAs(abi.Module, "teleport", kit.Result)
	m.Memory(1)
	m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
	return m.Bytes()
}

// bench is a host under test with its files, its upstream and its log.
type bench struct {
	t        *testing.T
	dir      string
	upstream *httptest.Server
	hangups  chan os.Signal
	log      *journal
	host     *Host
	stop     context.CancelFunc
	ended    chan struct{}
	result   error // of Run; once ended
}

// open writes porch.yaml and the modules, and opens the host.
func open(t *testing.T, upstream http.Handler, yaml string, modules map[string][]byte) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), hangups: make(chan os.Signal), log: newJournal()}
	b.upstream = httptest.NewServer(upstream)
	t.Cleanup(b.upstream.Close)
	for name, module := range modules {
		b.write(name, module)
	}
	b.configure(yaml)
	h, err := b.tryOpen()
	if err != nil {
		t.Fatal(err)
	}
	b.host = h
	return b
}

func (b *bench) tryOpen() (*Host, error) {
	cfg, err := config.Load(b.path("porch.yaml"))
	if err != nil {
		return nil, err
	}
	return Open(b.t.Context(), cfg, Options{Logger: slog.New(b.log), Hangups: b.hangups, CacheDir: os.Getenv("PORCH_TEST_CACHE")})
}

// serve runs the host until the test ends, or until end is called.
func (b *bench) serve() *bench {
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.ended = stop, make(chan struct{})
	// Stops when end cancels the context, and end waits for it.
	go func() {
		defer close(b.ended)
		b.result = b.host.Run(ctx)
	}()
	b.t.Cleanup(func() {
		b.end()
		if b.result != nil {
			b.t.Errorf("run: %v", b.result)
		}
		if err := b.host.Close(); err != nil {
			b.t.Errorf("close: %v", err)
		}
	})
	b.log.await(b.t, "serving")
	return b
}

func (b *bench) end() {
	b.stop()
	<-b.ended
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// write puts a file into place by a rename.
func (b *bench) write(name string, content []byte) {
	b.t.Helper()
	next := b.path("next." + name)
	if err := os.WriteFile(next, content, 0o644); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(next, b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

// configure writes porch.yaml; UPSTREAM in it is the address of the upstream.
func (b *bench) configure(yaml string) {
	b.t.Helper()
	b.write("porch.yaml", []byte(strings.ReplaceAll(yaml, "UPSTREAM", b.upstream.URL)))
}

// client keeps no connections, so that none outlives a test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (b *bench) get(path string) (status int, stamp string) {
	b.t.Helper()
	resp, err := client.Get("http://" + b.host.Addr().String() + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("X-Stamp")
}

func (b *bench) wantStamp(want string) {
	b.t.Helper()
	if status, got := b.get("/"); status != http.StatusOK || got != want {
		b.t.Errorf("%d with stamp %q, want 200 with %q", status, got, want)
	}
}

// metric is the value of a series on the page, "" if it is not there.
func (b *bench) metric(series string) string {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.host.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (b *bench) wantMetric(series, want string) {
	b.t.Helper()
	if got := b.metric(series); got != want {
		b.t.Errorf("%s is %q, want %q", series, got, want)
	}
}

// journal is a log that tests wait for.
type journal struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed and made anew with each line
	read  int           // lines that await has passed
}

func newJournal() *journal { return &journal{more: make(chan struct{})} }

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	close(j.more)
	j.more = make(chan struct{})
	return nil
}

// await returns the next line that holds text.
func (j *journal) await(t *testing.T, text string) string {
	t.Helper()
	for {
		j.mu.Lock()
		for j.read < len(j.lines) {
			line := j.lines[j.read]
			j.read++
			if strings.Contains(line, text) {
				j.mu.Unlock()
				return line
			}
		}
		more := j.more
		j.mu.Unlock()
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("never logged: %s", text)
		}
	}
}

var answers = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })

const oneFilter = `
listen: 127.0.0.1:0
store: { path: data }
upstreams: { app: { targets: [UPSTREAM] } }
filters: { mark: { module: mark.wasm, timeout: 10s } }
routes: [{ path: /, filters: [mark], upstream: app }]
`

func TestServe(t *testing.T) {
	b := open(t, answers, oneFilter, map[string][]byte{"mark.wasm": stamp("one")})
	if err := b.host.Ready(); !errors.Is(err, errStarting) {
		t.Errorf("before Run: %v", err)
	}
	b.serve()
	b.wantStamp("one")
	if err := b.host.Ready(); err != nil {
		t.Errorf("while serving: %v", err)
	}
	b.end()
	if err := b.host.Ready(); !errors.Is(err, errDraining) {
		t.Errorf("after the end: %v", err)
	}
}

// TestDrain ends the host while a request is at the upstream: the request ends well.
func TestDrain(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	b := open(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	}), oneFilter, map[string][]byte{"mark.wasm": stamp("one")}).serve()
	answered := make(chan struct{})
	// Stops when the request has ended; the test waits for it.
	go func() {
		defer close(answered)
		b.wantStamp("one")
	}()
	<-arrived
	b.stop()
	b.log.await(t, "draining")
	if err := b.host.Ready(); !errors.Is(err, errDraining) {
		t.Errorf("while draining: %v", err)
	}
	close(leave)
	<-answered
	<-b.ended
}

// TestDeadStore ends Run at once, with the error that has an exit code of its own.
func TestDeadStore(t *testing.T) {
	b := open(t, answers, oneFilter, map[string][]byte{"mark.wasm": stamp("one")})
	ended := make(chan error)
	// Stops when Run returns; the test waits for it.
	go func() { ended <- b.host.Run(t.Context()) }()
	b.log.await(t, "serving")
	b.host.state.die()
	if err := <-ended; !errors.Is(err, ErrStoreDead) {
		t.Errorf("got %v", err)
	}
	if err := b.host.Ready(); err == nil {
		t.Error("ready with a dead store")
	}
	if err := b.host.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefusedStart names what is wrong and leaves no data directory behind.
func TestRefusedStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct {
		yaml string
		want string
	}{
		"port in use": {
			strings.Replace(oneFilter, "127.0.0.1:0", taken.Addr().String(), 1),
			"listen: cannot listen on " + taken.Addr().String() + ": bind: address already in use",
		},
		"admin port in use": {
			oneFilter + "admin: { listen: " + taken.Addr().String() + " }",
			"admin.listen: cannot listen on " + taken.Addr().String() + ": bind: address already in use",
		},
		"missing module": {
			strings.Replace(oneFilter, "mark.wasm", "gone.wasm", 1),
			"DIR/porch.yaml:5:28: filters.mark: module DIR/gone.wasm: no such file or directory",
		},
		"not a module": {
			strings.Replace(oneFilter, "mark.wasm", "porch.yaml", 1),
			"DIR/porch.yaml:5:28: filters.mark: module DIR/porch.yaml: not a usable WebAssembly module",
		},
		"unknown import": {
			strings.Replace(oneFilter, "mark.wasm", "strange.wasm", 1),
			"teleport",
		},
		"unknown built-in": {
			strings.Replace(oneFilter, "mark.wasm", "builtin:ratelimt", 1),
			"DIR/porch.yaml:5:28: filters.mark: module builtin:ratelimt: no such filter, allowed: " + strings.Join(filters.Names(), ", "),
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{t: t, dir: t.TempDir(), log: newJournal(), upstream: &httptest.Server{URL: "http://127.0.0.1:1"}}
			b.write("mark.wasm", stamp("one"))
			b.write("strange.wasm", strange())
			b.configure(test.yaml)
			_, err := b.tryOpen()
			if err == nil {
				t.Fatal("started")
			}
			got := strings.ReplaceAll(err.Error(), b.dir, "DIR")
			if !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("got %s\nwant one line with %s", got, test.want)
			}
			if _, err := os.Stat(b.path("data")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the data directory was made: %v", err)
			}
		})
	}
}

// TestCheck names every filter that is wrong, in the order of the file, and makes nothing.
func TestCheck(t *testing.T) {
	b := &bench{t: t, dir: t.TempDir(), log: newJournal(), upstream: &httptest.Server{URL: "http://127.0.0.1:1"}}
	b.write("strange.wasm", strange())
	b.configure(`
store: { path: data }
upstreams: { app: { targets: [UPSTREAM] } }
filters:
  a: { module: gone.wasm }
  b: { module: strange.wasm }
routes: [{ path: /, filters: [a, b], upstream: app }]
`)
	cfg, err := config.Load(b.path("porch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	err = Check(t.Context(), cfg, Options{Logger: slog.New(b.log)})
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) != 2 ||
		mistakes[0].Position != (config.Position{Line: 5, Column: 16}) || mistakes[1].Position != (config.Position{Line: 6, Column: 16}) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(b.path("data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
}
