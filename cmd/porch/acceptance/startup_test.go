package acceptance

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// wantRefusal asserts that a start failed as an operator wants it to: by its exit code, with one clear line
// that holds each of the words, and no stack.
func wantRefusal(t *testing.T, code, want int, stderr string, words ...string) {
	t.Helper()
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	text := strings.TrimSpace(stderr)
	if strings.Contains(text, "goroutine ") || strings.Contains(text, "panic") {
		t.Errorf("a stack: %s", text)
	}
	var telling []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "level=INFO") && !strings.Contains(line, `"level":"INFO"`) {
			telling = append(telling, line)
		}
	}
	if len(telling) != 1 {
		t.Errorf("%d lines, want one: %s", len(telling), text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not told: %s", w, text)
		}
	}
}

// wantUntouched asserts that the folder holds what it held: the configuration alone, or before.
func (p *process) wantUntouched(before []string) {
	p.t.Helper()
	if after := tree(p.t, p.dir); strings.Join(after, "\n") != strings.Join(before, "\n") {
		p.t.Errorf("changed on disk:\n%s\nbefore:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// tree lists the files of a folder with their content.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s %d bytes %x", path, len(content), sha256.Sum256(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		word string
	}{
		{"unknown command", []string{"walk"}, "walk"},
		{"unknown flag", []string{"run", "--colour", "red"}, "colour"},
		{"nothing to forward to", []string{"run"}, "--to"},
		{"file and flags", []string{"run", "--config", "porch.yaml", "--to", "http://127.0.0.1:1"}, "--config"},
		{"limit without a window", []string{"run", "--to", "http://127.0.0.1:1", "--limit", "100"}, "--limit"},
		{"target that is no address", []string{"run", "--to", "nowhere"}, "--to"},
		{"no shards", []string{"run", "--to", "http://127.0.0.1:1", "--shards", "-1"}, "--shards"},
		{"argument too many", []string{"run", "now"}, "now"},
		{"check without a file", []string{"check"}, "--config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := finish(t, c.args...)
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(stderr, c.word) || strings.Contains(stderr, "goroutine ") {
				t.Errorf("%q is not told: %s", c.word, stderr)
			}
		})
	}
}

func TestVersionIsTold(t *testing.T) {
	t.Parallel()
	code, stdout, _ := finish(t, "version")
	if code != 0 || !strings.HasPrefix(stdout, "porch ") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("%d: %q", code, stdout)
	}
}

func TestHelpAndCompletion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"completion", "bash"}} {
		if code, stdout, _ := finish(t, args...); code != 0 || !strings.Contains(stdout, "porch") {
			t.Errorf("%v: %d: %q", args, code, stdout)
		}
	}
}

// Every mistake of a file is named with its place, the value and what is allowed, by check and by run.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	good := config{to: up.address, filters: []filter{ratelimit("limit: 5, window: 1m")}}
	for _, c := range []struct {
		name    string
		mistake func(c *config)
		words   []string
	}{
		{"unknown key", func(c *config) { c.further = "lisen: 127.0.0.1:1" }, []string{"lisen", "listen"}},
		{"unknown key within", func(c *config) { c.pool = "shard: 4" }, []string{"shard", "shards"}},
		{"unknown filter", func(c *config) { c.routes = []string{"path: /, filters: [per-clint], upstream: app"} }, []string{"per-clint", "per-client"}},
		{"unknown upstream", func(c *config) { c.routes = []string{"path: /, upstream: ap"} }, []string{`"ap"`, "app"}},
		{"bad duration", func(c *config) { c.upstream = "timeout: soon" }, []string{"soon", "30s"}},
		{"bad number", func(c *config) { c.pool = "shards: many" }, []string{"many", "whole number"}},
		{"bad choice", func(c *config) { c.upstream = "host: mine" }, []string{"mine", "client", "target"}},
		{"unknown built-in", func(c *config) { c.filters[0].module = "builtin:ratelimt" }, []string{"ratelimt", "ratelimit"}},
		{"a filter's unknown key", func(c *config) { c.filters[0].config = "limit: 5, window: 1m, durabilty: none" }, []string{"durabilty", "durability"}},
		{"a filter's bad value", func(c *config) { c.filters[0].config = "limit: 0, window: 1m" }, []string{"limit", "0"}},
		{"missing module", func(c *config) { c.filters[0].module = "./gone.wasm" }, []string{"gone.wasm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := good
			bad.filters = append([]filter(nil), good.filters...)
			c.mistake(&bad)
			p := prepare(t, bad)
			before := tree(t, p.dir)
			at := regexp.MustCompile(regexp.QuoteMeta(p.file()) + `:\d+:\d+: `)
			for _, command := range []string{"check", "run"} {
				code, _, stderr := finish(t, command, "--config", p.file())
				wantRefusal(t, code, 1, stderr, c.words...)
				if !at.MatchString(stderr) {
					t.Errorf("%s names no place: %s", command, stderr)
				}
			}
			p.wantUntouched(before)
		})
	}
}

func TestEveryMistakeIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	p := prepare(t, config{to: "127.0.0.1:1", pool: "shards: 0, mailbx: 1", upstream: "timeout: 0s"})
	code, _, stderr := finish(t, "check", "--config", p.file())
	if n := strings.Count(stderr, p.file()+":"); code != 1 || n != 3 {
		t.Errorf("exit code %d and %d places, want 1 and 3: %s", code, n, stderr)
	}
}

func TestGoodFileIsChecked(t *testing.T) {
	t.Parallel()
	p := prepare(t, config{to: "127.0.0.1:1", filters: []filter{ratelimit("limit: 5, window: 1m"), idempotency("ttl: 1h")}})
	before := tree(t, p.dir)
	if code, _, stderr := finish(t, "check", "--config", p.file()); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	p.wantUntouched(before)
}

func TestFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone.yaml")
	for _, command := range []string{"check", "run"} {
		code, _, stderr := finish(t, command, "--config", gone)
		wantRefusal(t, code, 1, stderr, gone)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, proxies(up.address))
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := tree(t, p.dir)
	code, _, stderr := finish(t, p.args...)
	wantRefusal(t, code, 1, stderr, p.listen, "in use")
	p.wantUntouched(before)
}

func TestAdminPortInUse(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, proxies(up.address))
	l, err := net.Listen("tcp", p.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := tree(t, p.dir)
	code, _, stderr := finish(t, p.args...)
	wantRefusal(t, code, 1, stderr, p.admin, "in use")
	p.wantUntouched(before)
}

func TestDataFolderInUse(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := config{to: up.address, filters: []filter{ratelimit("limit: 1, window: 1h")}}
	p := launch(t, c)
	wantStatus(t, p.client().send(request{}), 200)
	other := filepath.Join(p.dir, "other.yaml")
	if err := os.WriteFile(other, []byte(c.yaml(freeAddress(t), freeAddress(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := finish(t, "run", "--config", other)
	wantRefusal(t, code, 1, stderr, p.data())
	wantStatus(t, p.client().send(request{}), 429)
}

// A store that a newer porch has written is left alone.
func TestDataOfANewerVersion(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 1, window: 1h")}})
	wantStatus(t, p.client().send(request{}), 200)
	p.terminate()
	db, err := pebble.Open(p.data(), &pebble.Options{Logger: pebble.DefaultLogger})
	if err != nil {
		t.Fatal(err)
	}
	format := []byte("mformat") // the store's row that holds its format version
	had, closer, err := db.Get(format)
	if err != nil {
		t.Fatal(err)
	}
	newer := binary.LittleEndian.AppendUint32(nil, binary.LittleEndian.Uint32(had)+1)
	if err := errors.Join(closer.Close(), db.Set(format, newer, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	before := tree(t, p.dir)
	code, _, stderr := finish(t, p.args...)
	wantRefusal(t, code, 1, stderr, p.data(), "newer version")
	p.wantUntouched(before)
}

// The flags alone make a whole porch.
func TestFlagsWithoutAFile(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := prepare(t, proxies(up.address))
	p.args = []string{"run", "--listen", p.listen, "--admin", p.admin, "--to", "http://" + up.address,
		"--limit", "2/1h", "--idempotency", "--data", p.data(), "--shards", "2", "--mailbox", "8"}
	p.begin()
	c := p.client()
	first := c.send(request{key: "k", body: "order"})
	wantStatus(t, first, 200)
	wantReplay(t, c.send(request{key: "k", body: "order"}), first)
	wantStatus(t, c.send(request{}), 429)
	up.wantRows(1)
}
