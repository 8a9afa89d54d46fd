package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/porchedge/porch/host"
)

// TestOutcome runs commands that end by themselves: what they print and the exit code.
func TestOutcome(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, text := range map[string]string{
		good: "upstreams: { app: { targets: [\"http://127.0.0.1:9000\"] } }\nroutes: [{ path: /, upstream: app }]\n",
		bad:  "lisen: :80\nrotes: []\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		args []string
		code int
		out  string // of stdout
		errs string // of stderr, where %s is the folder
	}{
		"version":         {[]string{"version"}, 0, "porch ", ""},
		"no command":      {nil, 0, "Usage:", ""},
		"help":            {[]string{"run", "--help"}, 0, "--idempotency", ""},
		"completion":      {[]string{"completion", "zsh"}, 0, "porch", ""},
		"unknown command": {[]string{"walk"}, 2, "", "porch: unknown command \"walk\" for \"porch\"\n"},
		"unknown flag":    {[]string{"run", "--colour"}, 2, "", "porch: unknown flag: --colour\n"},
		"nothing to do":   {[]string{"run"}, 2, "", "porch: name what to forward to by --to, or a file by --config\n"},
		"file and flag":   {[]string{"run", "--config", good, "--shards", "2"}, 2, "", "porch: --shards cannot be used with --config: the file says it\n"},
		"bad level":       {[]string{"run", "--to", "http://a", "--log-level", "loud"}, 2, "", "porch: --log-level: \"loud\" is not allowed, allowed: debug, info, warn, error\n"},
		"bad flags":       {[]string{"run", "--to", "http://a/b", "--limit", "x"}, 2, "", "porch: --to: \"http://a/b\" has more than a host and a port, allowed: http://host:port without a path, such as http://127.0.0.1:9000; --limit: \"x\" is not a limit, allowed: requests/window, such as 100/1m\n"},
		"check no file":   {[]string{"check"}, 2, "", "porch: name the file by --config\n"},
		"check gone":      {[]string{"check", "--config", dir + "/gone.yaml"}, 1, "", "porch: configuration: open %s/gone.yaml: no such file or directory\n"},
		"check good":      {[]string{"check", "--config", good}, 0, good + ": no mistakes (filters: 0, upstreams: 1, routes: 1)\n", ""},
		"check bad": {[]string{"check", "--config", bad}, 1, "", "%s/bad.yaml:1:1: routes: not set, allowed: a list with at least one route\n" +
			"%s/bad.yaml:1:1: unknown key \"lisen\", did you mean \"listen\"?\n" +
			"%s/bad.yaml:2:1: unknown key \"rotes\", did you mean \"routes\"?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := command()
			cmd.SetArgs(append([]string{}, test.args...))
			cmd.SetOut(&out)
			cmd.SetErr(&errs)
			err := cmd.ExecuteContext(t.Context())
			report(&errs, err)
			if code := exitCode(err); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(out.String(), test.out) {
				t.Errorf("stdout %q, want %q", out.String(), test.out)
			}
			if got, want := errs.String(), strings.ReplaceAll(test.errs, "%s", dir); got != want {
				t.Errorf("stderr %q\nwant   %q", got, want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("usage"), 2},
		{failed(errors.New("start")), 1},
		{failed(fmt.Errorf("run: %w", host.ErrStoreDead)), 70},
		{failed(nil), 0},
	} {
		if got := exitCode(test.err); got != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.code)
		}
	}
}
