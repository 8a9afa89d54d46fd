package host

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/porchedge/porch/filters"
	"github.com/porchedge/porch/host/exchange"
	"github.com/porchedge/porch/host/wasm"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// filterCalls are the calls that BenchmarkFilter makes of each filter of Porch.
var filterCalls = map[string][]filterCall{
	"ratelimit": {
		{name: "allowed", config: `{"limit": 9007199254740992, "window": "1h", "durability": "none"}`},
		{name: "refused", config: `{"limit": 1, "window": "1h", "durability": "none"}`},
	},
	"jwt": {
		{name: "good", config: benchTokens, header: [2]string{"Authorization", "Bearer " + benchToken()}},
		{name: "refused", config: benchTokens, header: [2]string{"Authorization", "Bearer " + benchToken()[1:]}},
		{name: "without a token", config: benchTokens},
	},
	"replayguard": {
		{name: "duplicate", config: `{"key": ["const:all"]}`},
	},
	"idempotency": {
		{name: "without a key", config: `{}`},
		{name: "with a key", config: `{}`, header: [2]string{"Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324"}},
	},
}

// filterCall is one call of a filter: its request, and its way back where the filter went on.
type filterCall struct {
	name, config string
	header       [2]string
}

func TestEveryFilterHasABenchmark(t *testing.T) {
	for _, name := range filters.Names() {
		if len(filterCalls[name]) == 0 {
			t.Errorf("filterCalls has none of %s", name)
		}
	}
}

// BenchmarkFilter is a whole turn of each filter of Porch, with its limits of time and memory on, over a real
// pool and a real store.
func BenchmarkFilter(b *testing.B) {
	b.Setenv(benchVariable, benchSecret)
	log := slog.New(slog.DiscardHandler)
	engine, err := wasm.NewEngine(wasm.EngineConfig{CacheDir: os.Getenv("PORCH_TEST_CACHE"), Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	rows, err := store.Open(store.Config{Path: b.TempDir(), Shards: 16, Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	decider, err := pool.Open(pool.Config{Store: rows, Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	defer decider.Close()
	for _, name := range filters.Names() {
		module, err := filters.Open(name)
		if errors.Is(err, filters.ErrNotBuilt) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, call := range filterCalls[name] {
			b.Run(name+"/"+call.name, func(b *testing.B) {
				v, err := engine.Load(context.Background(), wasm.Spec{
					Filter: name, Module: builtinPrefix + name, Source: module, Config: []byte(call.config),
					Timeout: time.Second, Memory: 32 << 20, Instances: 1, Decider: decider,
				})
				if err != nil {
					b.Fatal(err)
				}
				defer v.Close()
				b.ReportAllocs()
				for b.Loop() {
					call.run(b, v)
				}
			})
		}
	}
}

func (c *filterCall) run(b *testing.B, v *wasm.Version) {
	x := exchange.Acquire()
	defer x.Release()
	x.ID, x.Route = "id", "/"
	x.Peer = netip.MustParseAddr("192.0.2.1")
	x.Client = x.Peer
	r := &x.Request
	r.Method, r.Scheme, r.Held = "POST", "http", true
	r.Authority, r.Path, r.RoutePath = benchAuthority, benchPath, benchPath
	r.Sent = exchange.Sent{Method: r.Method, Authority: r.Authority, Path: r.Path}
	if c.header[0] != "" {
		r.Header.Add([]byte(c.header[0]), []byte(c.header[1]))
	}
	x.StartPlaces(1)
	if err := v.Request(x, 0); err != nil {
		b.Fatal(err)
	}
	if x.Places[0].Condition != 0 {
		b.Fatalf("condition %d", x.Places[0].Condition)
	}
	if x.Places[0].Continued = x.Places[0].Status == 0; x.Places[0].Continued && v.HasResponse() {
		if err := v.Response(x, 0); err != nil {
			b.Fatal(err)
		}
	}
	if x.Claim != nil {
		x.Claim.Release()
	}
}

var benchAuthority, benchPath = []byte("example.com"), []byte("/orders")

const (
	benchVariable = "PORCH_BENCH_SECRET"
	benchSecret   = "a secret of more than 32 bytes, of benchmarks alone"
	benchTokens   = `{"algorithms": ["HS256"], "key": {"env": "` + benchVariable + `"}, "issuer": "i", "audience": "a"}`
)

// benchToken is a token that is good until the year 9999.
func benchToken() string {
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		part([]byte(`{"iss":"i","aud":"a","exp":253402300799,"sub":"u-1","tenant_id":"t-1","plan":"gold"}`))
	mac := hmac.New(sha256.New, []byte(benchSecret))
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}
