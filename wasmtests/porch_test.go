package wasmtests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/porchedge/porch/host"
	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/wasmtests/kit"
)

// underTest is the host that the contract tests hold to the contract.
var underTest kit.Host = porch{}

// porch is this project's host, in the process of the tests.
type porch struct{}

// server is a host that runs.
type server struct {
	dir     string
	setup   kit.Setup
	hangups chan os.Signal
	log     *watchedLog
	host    *host.Host
	stop    context.CancelFunc
	ended   chan error // holds one: the result of Run
}

func (porch) Open(t testing.TB, s kit.Setup) (kit.Server, error) {
	srv := &server{
		dir:     t.TempDir(),
		setup:   s,
		hangups: make(chan os.Signal),
		log:     &watchedLog{out: s.Log, outcomes: make(chan string, 1)},
		ended:   make(chan error, 1),
	}
	if err := srv.configure(s.Filters); err != nil {
		return nil, err
	}
	cfg, err := config.Load(filepath.Join(srv.dir, "porch.yaml"))
	if err != nil {
		return nil, err
	}
	srv.host, err = host.Open(context.Background(), cfg, host.Options{
		Logger:   slog.New(srv.log),
		CacheDir: testCache(t),
		Hangups:  srv.hangups,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	srv.stop = stop
	// stops when Close cancels the context, and Close waits for it
	go func() { srv.ended <- srv.host.Run(ctx) }()
	return srv, srv.log.await("serving")
}

func (s *server) Addr() string { return s.host.Addr().String() }

func (s *server) Reload(filters []kit.Filter) error {
	if err := s.configure(filters); err != nil {
		return err
	}
	s.hangups <- syscall.SIGHUP
	return s.log.await("reloaded")
}

func (s *server) Close() error {
	s.stop()
	return errors.Join(<-s.ended, s.host.Close())
}

// configure writes the modules and the configuration. Each goes to a file of its own name, so that a
// reload finds nothing half written.
func (s *server) configure(filters []kit.Filter) error {
	var yaml bytes.Buffer
	_, port, err := net.SplitHostPort(s.setup.Upstream)
	if err != nil {
		return err
	}
	fmt.Fprintf(&yaml, "listen: 127.0.0.1:0\nstore: { path: %q }\n", s.setup.Data)
	if s.setup.Shards > 0 {
		fmt.Fprintf(&yaml, "pool: { shards: %d, mailbox: %d }\n", s.setup.Shards, s.setup.Mailbox)
	}
	fmt.Fprintf(&yaml, "trusted_proxies: [%s]\n", strings.Join(s.setup.TrustedProxies, ", "))
	fmt.Fprintf(&yaml, "upstreams: { app: { targets: [\"http://127.0.0.1:%s\"] } }\nfilters:\n", port)
	var names []string
	for _, f := range filters {
		module := filepath.Join(s.dir, f.Name+".wasm")
		if err := replace(module, f.Module); err != nil {
			return err
		}
		names = append(names, f.Name)
		fmt.Fprintf(&yaml, "  %s:\n    module: %s\n", f.Name, module)
		for key, value := range map[string]any{"timeout": f.Timeout, "fuel": f.Fuel, "memory": f.Memory, "instances": f.Instances, "config": f.Config} {
			if text := fmt.Sprint(value); text != "" && text != "0" && text != "0s" {
				fmt.Fprintf(&yaml, "    %s: %s\n", key, text)
			}
		}
		if f.Open {
			fmt.Fprintf(&yaml, "    on_failure: open\n")
		}
	}
	fmt.Fprintf(&yaml, "routes: [{ path: /, filters: [%s], upstream: app }]\n", strings.Join(names, ", "))
	return replace(filepath.Join(s.dir, "porch.yaml"), yaml.Bytes())
}

// replace puts a file into place at once.
func replace(path string, content []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// watchedLog is the host's log: every line goes on to the test, and those that tell how a start or a
// reload came out are waited for. It holds no lock while it writes, so a test may hold a line up.
type watchedLog struct {
	out      io.Writer
	outcomes chan string // holds one: the line that is waited for
	with     []slog.Attr
}

func (l *watchedLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *watchedLog) WithGroup(string) slog.Handler            { return l }

func (l *watchedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &watchedLog{out: l.out, outcomes: l.outcomes, with: append(l.with[:len(l.with):len(l.with)], attrs...)}
}

func (l *watchedLog) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	text := slog.NewTextHandler(&line, &slog.HandlerOptions{Level: slog.LevelDebug}).WithAttrs(l.with)
	if err := text.Handle(ctx, r); err != nil {
		return err
	}
	if r.Message == "serving" || strings.HasPrefix(r.Message, "reload") {
		l.outcomes <- line.String()
	}
	_, err := l.out.Write(line.Bytes())
	return err
}

// await waits for an outcome, and returns any but the wanted one as an error.
func (l *watchedLog) await(message string) error {
	if line := <-l.outcomes; !strings.Contains(line, "msg="+message) {
		return errors.New(line)
	}
	return nil
}
