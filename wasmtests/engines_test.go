package wasmtests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/filters"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// still is a clock that stands still, so that two runs tell the same times.
type still struct{}

func (still) Wall() time.Time         { return time.Unix(1_800_000_000, 0) }
func (still) Elapsed() time.Duration  { return time.Hour }
func (still) BootID() (string, error) { return "boot", nil }

// bench is an engine with a pool over a store in memory.
type bench struct {
	engine *wasm.Engine
	pool   *pool.Pool
}

func newBench(t testing.TB, interpreter bool) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	st, err := store.Open(store.Config{Path: "data", Shards: 1, FS: vfs.NewMem(), Clock: still{}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.Open(pool.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	e, err := wasm.NewEngine(wasm.EngineConfig{CacheDir: testCache(t), Logger: log, Interpreter: interpreter, StartLimit: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), p.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return &bench{e, p}
}

// shipped is a filter of Porch, built if the tree holds none.
func shipped(t testing.TB, name string) []byte {
	t.Helper()
	source, err := filters.Open(name)
	if errors.Is(err, filters.ErrNotBuilt) {
		source, err = build("../filters/"+name, filepath.Join(t.TempDir(), name+".wasm"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func (b *bench) load(t testing.TB, name, config string) *wasm.Version {
	t.Helper()
	v, err := b.engine.Load(context.Background(), wasm.Spec{
		Filter: name, Module: "builtin:" + name, Source: shipped(t, name), Config: []byte(config),
		Timeout: patience, Memory: 32 << 20, Instances: 2, Decider: b.pool,
	})
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

// exchangeOf makes an exchange as the edge would, with its body held.
func exchangeOf(r request) *exchange.Exchange {
	x := &exchange.Exchange{ID: "id", Route: "/", Peer: netip.MustParseAddr("192.0.2.1"), Client: netip.MustParseAddr("192.0.2.1")}
	x.Request.Method, x.Request.Scheme, x.Request.Held = r.method, "http", true
	x.Request.Authority, x.Request.Path, x.Request.RoutePath = []byte("example.com"), []byte(r.target), []byte(r.target)
	x.Request.Body = []byte(r.body)
	x.Request.Sent = exchange.Sent{Method: r.method, Authority: x.Request.Authority, Path: x.Request.Path}
	for i := 0; i < len(r.header); i += 2 {
		x.Request.Header.Add([]byte(r.header[i]), []byte(r.header[i+1]))
	}
	x.StartPlaces(1)
	return x
}

// told is all that a filter did to an exchange.
func told(x *exchange.Exchange, err error) string {
	place := x.Places[0]
	var out strings.Builder
	fmt.Fprintf(&out, "error %v, status %d, condition %d, mismatched %v, begun %v\n", err, place.Status, place.Condition, place.Mismatched, x.Begun)
	for _, op := range place.Ops {
		fmt.Fprintf(&out, "%d %s: %s\n", op.Verb, op.Name, op.Value)
	}
	fmt.Fprintf(&out, "%s\n", place.Body)
	for _, f := range slices.Concat(x.Request.Header.Fields, x.Response.Header.Fields) {
		fmt.Fprintf(&out, "%s: %s\n", f.Name, f.Value)
	}
	return out.String()
}

// The optimising compiler has had miscompilations: what a filter does must not depend on the engine.
func TestEnginesAgree(t *testing.T) {
	post := func(key, body string) request {
		r := request{method: "POST", target: "/orders", body: body}
		if key != "" {
			r.header = []string{"Idempotency-Key", key}
		}
		return r
	}
	get := request{method: "GET", target: "/"}
	forwarded := request{method: "GET", target: "/a", header: []string{"X-Forwarded-For", "198.51.100.7", "X-Tenant", "t1"}}
	tests := []struct {
		name, filter, config string
		requests             []request
	}{
		{"a limit", "ratelimit", `{"limit":2,"window":"1m"}`, []request{get, get, get, forwarded}},
		{"a limit by header", "ratelimit", `{"limit":1,"window":"1h","key":["header:X-Tenant"],"durability":"none"}`, []request{forwarded, forwarded, get}},
		{"keys", "idempotency", `{}`, []request{
			post("k", "a"), post("k", "a"), post("k", "b"), post("", "a"), post(`"k"`, "a"), post("bad key\x01", "a"), post(strings.Repeat("k", 256), "a"), get}},
		{"keys that are required", "idempotency", `{"required":true,"methods":["POST"]}`, []request{post("", "a"), post("j", "a"), get}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var transcripts [2]string
			for i, interpreter := range []bool{false, true} {
				b := newBench(t, interpreter)
				if !interpreter && !b.engine.Compiles() {
					t.Skip("no compiler on this system")
				}
				v := b.load(t, test.filter, test.config)
				for n, r := range test.requests {
					x := exchangeOf(r)
					err := v.Request(x, 0)
					if err == nil && v.HasResponse() && x.Places[0].Status == 0 {
						x.Response.Status, x.Response.Source = 200, exchange.FromUpstream
						err = v.Response(x, 0)
					}
					transcripts[i] += fmt.Sprintf("request %d: %s", n, told(x, err))
					if x.Claim != nil {
						x.Claim.Release()
					}
					if err := x.Tickets.Wait(); err != nil {
						t.Error(err)
					}
				}
			}
			if transcripts[0] != transcripts[1] {
				t.Errorf("compiled:\n%s\ninterpreted:\n%s", transcripts[0], transcripts[1])
			}
			if strings.Contains(transcripts[0], "error wasm") {
				t.Errorf("a call failed:\n%s", transcripts[0])
			}
		})
	}
}

// BenchmarkFilterCall is one porch_request of each filter, decisions of a store in memory included.
func BenchmarkFilterCall(b *testing.B) {
	for _, f := range []struct{ name, config string }{
		{"ratelimit", `{"limit":1000000000,"window":"1h","durability":"none"}`},
		{"idempotency", `{}`},
	} {
		b.Run(f.name, func(b *testing.B) {
			v := newBench(b, false).load(b, f.name, f.config)
			x := exchangeOf(request{method: "GET", target: "/"})
			b.ReportAllocs()
			for b.Loop() {
				x.Places[0].Ops = x.Places[0].Ops[:0]
				x.Arena.Reset()
				x.Tickets.Reset()
				if err := v.Request(x, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
