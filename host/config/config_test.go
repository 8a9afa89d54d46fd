package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestFiles parses each testdata/*.yaml and compares what came of it, resolved or refused, with the
// golden file beside it.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var got string
			cfg, err := Load(file)
			if err != nil {
				got = "refused\n" + err.Error() + "\n"
			} else {
				got = "resolved\n" + describeConfig(t, cfg)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden", got)
		})
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (-update writes it anew):\n%s", golden, got)
	}
}

// describeConfig is a configuration as text, with paths relative to this folder.
func describeConfig(t *testing.T, cfg *Config) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("listen %s", cfg.Listen)
	p("trusted_proxies %v", cfg.TrustedProxies)
	p("store path=%s stall=%v sync_interval=%v", cfg.Store.Path, cfg.Store.Stall, cfg.Store.SyncInterval)
	p("pool %+v", cfg.Pool)
	p("admin %+v", cfg.Admin)
	p("server %+v", cfg.Server)
	for _, u := range cfg.Upstreams {
		p("upstream %s targets=%v timeout=%v host=%d", u.Name, u.Targets, u.Timeout, u.Host)
	}
	for _, f := range cfg.Filters {
		p("filter %s module=%s at=%v timeout=%v fuel=%d memory=%d instances=%d on_failure=%d",
			f.Name, f.Module, f.ModuleAt, f.Timeout, f.Fuel, f.Memory, f.Instances, f.OnFailure)
		p("  config %s at=%v", f.Config, f.At(""))
	}
	for _, r := range cfg.Routes {
		p("route %q host=%q path=%q methods=%v filters=%v upstream=%s", r.Name, r.Host, r.Path, r.Methods, r.Filters, r.Upstream)
	}
	return strings.ReplaceAll(b.String(), here+"/", "")
}

func TestLoadMissing(t *testing.T) {
	_, err := Load("testdata/none.yaml")
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want that there is no file", err)
	}
}

// TestPositions looks up JSON pointers of a filter's configuration in the file.
func TestPositions(t *testing.T) {
	cfg, err := Parse("porch.yaml", []byte(`upstreams: { app: { targets: ["http://127.0.0.1:9000"] } }
filters:
  f:
    module: f.wasm
    config:
      limit: 100
      a/b~c: [x, { y: 1 }]
  none: { module: f.wasm }
routes: [{ path: /, filters: [f], upstream: app }]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(cfg.Filters[0].Config), `{"limit":100,"a/b~c":["x",{"y":1}]}`; got != want {
		t.Fatalf("JSON is %s, want %s", got, want)
	}
	for _, test := range []struct {
		pointer string
		want    Position
	}{
		{"", Position{6, 7}},
		{"/limit", Position{6, 14}},
		{"/a~1b~0c", Position{7, 14}},
		{"/a~1b~0c/0", Position{7, 15}},
		{"/a~1b~0c/1/y", Position{7, 23}},
		{"/a~1b~0c/1/missing", Position{7, 18}},
		{"/missing", Position{6, 7}},
		{"no pointer", Position{6, 7}},
	} {
		if got := cfg.Filters[0].At(test.pointer); got != test.want {
			t.Errorf("%q is at %v, want %v", test.pointer, got, test.want)
		}
	}
	if got, want := cfg.Filters[1].At("/limit"), (Position{8, 9}); got != want {
		t.Errorf("a pointer into an absent configuration is at %v, want %v", got, want)
	}
}

func TestFromFlags(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags Flags
		want  []string // lines, or mistakes
	}{
		"least": {
			Flags{To: "http://localhost"},
			[]string{
				"listen 127.0.0.1:8080",
				"store path=porch-data stall=1s sync_interval=100ms",
				"admin {Listen:}",
				"upstream app targets=[http://localhost:80] timeout=30s host=0",
				`route "/" host="" path="/" methods=[] filters=[] upstream=app`,
			},
		},
		"all": {
			Flags{"[::1]:0", "http://127.0.0.1:9000/", "100/1d", true, "/var/lib/porch", 2, 4, ":9901"},
			[]string{
				"listen [::1]:0",
				"store path=/var/lib/porch stall=1s sync_interval=100ms",
				"pool {Shards:2 Mailbox:4}",
				"admin {Listen::9901}",
				"filter per-client module=builtin:ratelimit at={0 0} timeout=50ms fuel=30000000 memory=33554432 instances=8 on_failure=0",
				`  config {"limit":100,"window":"1d","key":["peer"]} at={0 0}`,
				"filter once module=builtin:idempotency at={0 0} timeout=50ms fuel=30000000 memory=33554432 instances=8 on_failure=0",
				"  config {} at={0 0}",
				`route "/" host="" path="/" methods=[] filters=[per-client once] upstream=app`,
			},
		},
		"all wrong": {
			Flags{"8080", "https://x", "100", false, "", -1, 1 << 20, "x"},
			[]string{
				`--listen: "8080" is not an address to listen on, allowed: host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080`,
				`--admin: "x" is not an address to listen on, allowed: host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080`,
				`--shards: -1 is not allowed, allowed: a whole number from 1 to 1024`,
				`--mailbox: 1048576 is not allowed, allowed: a whole number from 1 to 65536`,
				`--to: "https://x" does not begin with http://, allowed: http://host:port without a path, such as http://127.0.0.1:9000`,
				`--limit: "100" is not a limit, allowed: requests/window, such as 100/1m`,
			},
		},
		"no target": {Flags{}, []string{"--to: not set, allowed: http://host:port without a path, such as http://127.0.0.1:9000"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := FromFlags(test.flags)
			var got string
			if err != nil {
				got = err.Error() + "\n"
			} else {
				got = strings.ReplaceAll(describeConfig(t, cfg), here+"/", "")
			}
			for _, line := range test.want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("no line %q in\n%s", line, got)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := Parse("porch.yaml", text)
		var mistakes Mistakes
		switch {
		case err == nil && (cfg == nil || len(cfg.Routes) == 0):
			t.Error("accepted without a route")
		case err != nil && (!errors.As(err, &mistakes) || len(mistakes) == 0):
			t.Errorf("refused without mistakes: %v", err)
		}
	})
}
