package metrics

import (
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/porchedge/porch/host/edge"
	"github.com/porchedge/porch/host/edge/upstream"
	"github.com/porchedge/porch/host/token"
	"github.com/porchedge/porch/host/wasm"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// read reads the page: values by series.
func read(t *testing.T, m *Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			series[line[:at]] = line[at+1:]
		}
	}
	return series
}

func want(t *testing.T, series map[string]string, name, value string) {
	t.Helper()
	if got := series[name]; got != value {
		t.Errorf("%s is %q, want %q", name, got, value)
	}
}

// limit is a policy. Its name belongs to the pool's own tests.
var limit = new(pool.Policy)

// everything calls each observer once.
func everything() *Metrics {
	m := New("test")
	m.Opened("f", "v", func() wasm.Stats { return wasm.Stats{InUse: 1, Idle: 2, Waiting: 3, Bound: 4} })
	m.Called(wasm.Call{Filter: "f", Version: "v", Phase: "request", Took: time.Millisecond, Fuel: 3, Budget: 4, Cause: wasm.CauseNone})
	m.Called(wasm.Call{Filter: "f", Version: "v", Phase: "response", Took: time.Millisecond, Fuel: 3, Budget: 4, Cause: wasm.CauseTrap})
	m.PassedOpen("f")
	m.Verified("f", token.Good)
	m.Verified("f", token.Expired)
	m.KeysChanged("f", true)
	m.KeysChanged("f", false)
	m.Served("example.com/v1", 200, time.Millisecond)
	m.Served("", 0, time.Millisecond)
	m.Decided(limit, pool.OperationCount, pool.OutcomeAllowed, time.Millisecond)
	m.PoolOpened(func() pool.Stats {
		return pool.Stats{Shards: []pool.ShardStats{{Mailbox: 1, Flights: 2, Waiters: 3, Bound: 4}}}
	})
	m.Applied(0, 3)
	m.Committed(store.Commit{Decisions: 3, Rows: 2, Bytes: 100, Took: time.Millisecond, Durable: time.Millisecond})
	m.EdgeOpened(func() edge.Stats { return edge.Stats{Connections: 5, HeldBodies: 6} })
	m.UpstreamOpened("app", func() upstream.Stats { return upstream.Stats{Idle: 7, InUse: 8, Dials: 9, DialsFailed: 1} })
	m.StoreOpened(func() store.Stats { return store.Stats{Pending: 1500 * time.Millisecond} })
	m.Reloaded(Refused)
	m.Live(2)
	return m
}

func TestValues(t *testing.T) {
	series := read(t, everything())
	for name, value := range map[string]string{
		`porch_filter_calls_total{filter="f",phase="request",version="v"}`:                                 "1",
		`porch_filter_failures_total{cause="trap",filter="f",version="v"}`:                                 "1",
		`porch_filter_instances_in_use{filter="f",version="v"}`:                                            "1",
		`porch_filter_instances_bound{filter="f",version="v"}`:                                             "4",
		`porch_filter_versions{filter="f"}`:                                                                "1",
		`porch_filter_passed_open_total{filter="f"}`:                                                       "1",
		`porch_tokens_verified_total{filter="f",outcome="expired"}`:                                        "1",
		`porch_token_keys_changed_total{filter="f",result="refused"}`:                                      "1",
		`porch_token_keys_changed_total{filter="f",result="taken"}`:                                        "1",
		`porch_http_requests_total{route="example.com/v1",status="2xx"}`:                                   "1",
		`porch_http_requests_total{route="none",status="closed"}`:                                          "1",
		`porch_http_held_bodies`:                                                                           "6",
		`porch_upstream_connections{state="in_use",upstream="app"}`:                                        "8",
		`porch_upstream_dials_total{outcome="connected",upstream="app"}`:                                   "8",
		`porch_decision_duration_seconds_count{kind="none",operation="count",outcome="allowed",policy=""}`: "1",
		`porch_pool_mailbox_bound{shard="0"}`:                                                              "4",
		`porch_pool_waiters{shard="0"}`:                                                                    "3",
		`porch_pool_batch_size_sum`:                                                                        "3",
		`porch_store_commit_duration_seconds_count`:                                                        "1",
		`porch_store_oldest_pending_seconds`:                                                               "1.5",
		`porch_reloads_total{result="refused"}`:                                                            "1",
		`porch_reloads_total{result="applied"}`:                                                            "0",
		`porch_generation`:                                                                                 "2",
		`porch_build_info{version="test"}`:                                                                 "1",
	} {
		want(t, series, name, value)
	}
}

// TestNames holds the names and labels of all series, which dashboards and alerts rest on.
func TestNames(t *testing.T) {
	names := map[string]bool{}
	for series := range read(t, everything()) {
		name, labels, _ := strings.Cut(series, "{")
		if !strings.HasPrefix(name, "porch_") {
			continue
		}
		if strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") {
			continue
		}
		for pair := range strings.SplitSeq(strings.TrimSuffix(labels, "}"), ",") {
			if label, _, ok := strings.Cut(pair, "="); ok {
				name += " " + label
			}
		}
		names[name] = true
	}
	got := strings.Join(slices.Sorted(maps.Keys(names)), "\n") + "\n"
	const golden = "testdata/names.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(stored) {
		t.Errorf("differs from %s (-update writes it anew):\n%s", golden, got)
	}
}

// TestClosedVersion deletes the series of a version when the last one of its name is closed.
func TestClosedVersion(t *testing.T) {
	m := New("test")
	one := func() wasm.Stats { return wasm.Stats{Bound: 1} }
	first, second := m.Opened("f", "v", one), m.Opened("f", "v", one)
	other := m.Opened("f", "w", one)
	call := func() {
		m.Called(wasm.Call{Filter: "f", Version: "v", Phase: "request", Took: time.Millisecond, Fuel: 3, Budget: 4, Cause: wasm.CauseTimeout})
		m.Called(wasm.Call{Filter: "f", Version: "w", Phase: "request", Took: time.Millisecond, Fuel: 3, Budget: 4, Cause: wasm.CauseNone})
	}
	call()
	const calls = `porch_filter_calls_total{filter="f",phase="request",version="v"}`
	const failures = `porch_filter_failures_total{cause="timeout",filter="f",version="v"}`
	const open = `porch_filter_versions{filter="f"}`
	series := read(t, m)
	want(t, series, calls, "1")
	want(t, series, open, "3")
	want(t, series, `porch_filter_instances_bound{filter="f",version="v"}`, "2")

	first()
	call()
	series = read(t, m)
	want(t, series, calls, "2")
	want(t, series, open, "2")

	second()
	series = read(t, m)
	want(t, series, calls, "")
	want(t, series, failures, "")
	want(t, series, open, "1")
	want(t, series, `porch_filter_calls_total{filter="f",phase="request",version="w"}`, "2")
	want(t, series, `porch_filter_loads_total{filter="f"}`, "3")
	other()
	want(t, read(t, m), open, "")
}

// TestHotPathAllocatesNothing holds what a request costs here.
func TestHotPathAllocatesNothing(t *testing.T) {
	m := everything()
	for name, call := range map[string]func(){
		"Called": func() {
			m.Called(wasm.Call{Filter: "f", Version: "v", Phase: "request", Took: time.Millisecond, Fuel: 3, Budget: 4, Cause: wasm.CauseNone})
		},
		"Verified": func() { m.Verified("f", token.Good) },
		"Served":   func() { m.Served("example.com/v1", 200, time.Millisecond) },
		"Decided":  func() { m.Decided(limit, pool.OperationCount, pool.OutcomeAllowed, time.Millisecond) },
		"Applied":  func() { m.Applied(0, 1) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// TestSeriesHammer reads and forgets children from many goroutines.
func TestSeriesHammer(t *testing.T) {
	var s series[int, int]
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 500 {
				k := i % 16
				if got := s.get(k, func(k int) int { return k * k }); got != k*k {
					t.Errorf("child of %d is %d", k, got)
				}
				if worker == 0 && i%10 == 0 {
					s.forget(func(k int) bool { return k%2 == 0 })
				}
			}
		})
	}
	all.Wait()
}
