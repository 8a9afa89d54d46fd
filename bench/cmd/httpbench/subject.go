package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// subject is one proxy, set up in one way.
type subject struct {
	name string
	// command makes the process that listens on addr, with its files in dir.
	command func(dir, addr string) ([]string, error)
	script  string // for wrk, in Lua; empty for plain GETs
	// ready says whether the subject serves as it should; called until it does.
	ready func(addr string) error

	process *process
	results []result // one a round
}

// result is one turn of a subject.
type result struct {
	perSecond float64
	cpu       time.Duration // of the proxy, per request
}

// Names of subjects, which the table's ratios refer to.
const (
	namePlain    = "porch, no filters"
	nameNone     = "porch, ratelimit none"
	nameSync     = "porch, ratelimit sync"
	nameReplay   = "porch, stored replay"
	nameProxy    = "nginx proxy_pass"
	nameLimitReq = "nginx limit_req"
)

func subjects(porch, origin string) []*subject {
	return []*subject{
		{name: namePlain, command: porchCommand(porch, origin, "", ""), ready: answers},
		{name: nameNone, command: porchCommand(porch, origin, rateLimit("none"), "filter"), ready: answersLimited},
		{name: nameSync, command: porchCommand(porch, origin, rateLimit("sync"), "filter"), ready: answersLimited},
		{name: nameReplay, command: porchCommand(porch, origin, idempotency, "filter"), ready: answersReplay, script: keyedPost},
		{name: nameProxy, command: nginxCommand(origin, "", ""), ready: answers},
		{name: nameLimitReq, command: nginxCommand(origin, limitZone, limitUse), ready: answers},
	}
}

func (s *subject) start(ctx context.Context, dir string) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	dir, err = os.MkdirTemp(dir, "subject-")
	if err != nil {
		return err
	}
	command, err := s.command(dir, addr)
	if err != nil {
		return err
	}
	if s.process, err = start(filepath.Join(dir, "log"), addr, command...); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if err := s.process.await(ctx, s.ready); err != nil {
		s.process.stop()
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// measure drives the subject for its turn.
func (s *subject) measure(ctx context.Context, l load) error {
	before, err := s.process.cpu()
	if err != nil {
		return err
	}
	driven, err := drive(ctx, s.process.addr, s.script, l)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	after, err := s.process.cpu()
	if err != nil {
		return err
	}
	s.results = append(s.results, result{driven.perSecond, (after - before) / time.Duration(driven.requests)})
	return nil
}

// porchCommand runs Porch with one filter, or none where name is empty.
func porchCommand(binary, origin, filter, name string) func(dir, addr string) ([]string, error) {
	return func(dir, addr string) ([]string, error) {
		file := filepath.Join(dir, "porch.yaml")
		text := fmt.Sprintf(`listen: %s
store: { path: data }
upstreams:
  origin: { targets: ["http://%s"] }
%sroutes:
  - { path: /, filters: [%s], upstream: origin }
`, addr, origin, filter, name)
		return []string{binary, "run", "--config", file}, os.WriteFile(file, []byte(text), 0o644)
	}
}

// rateLimit is a limit that is charged by every request and refuses none. Its time-out is long, so that a
// machine that is busy otherwise gives bad numbers and not a failed run.
func rateLimit(durability string) string {
	return fmt.Sprintf(`filters:
  filter: { module: builtin:ratelimit, timeout: 1s, config: { limit: 1000000000, window: 1h, key: [peer], durability: %s } }
`, durability)
}

const idempotency = `filters:
  filter: { module: builtin:idempotency, timeout: 1s, config: { header: Idempotency-Key } }
`

const keyedPost = `wrk.method = "POST"
wrk.body = "{}"
wrk.headers["Idempotency-Key"] = "bench"
`

// nginxCommand runs nginx with what is said of limits in its http and in its location block. It forwards as
// Porch does, streaming, over kept connections, with the same fields added, and writes no access log.
func nginxCommand(origin, zone, use string) func(dir, addr string) ([]string, error) {
	return func(dir, addr string) ([]string, error) {
		file := filepath.Join(dir, "nginx.conf")
		text := fmt.Sprintf(`daemon off;
worker_processes auto;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 1000000000;
  %s
  upstream origin {
    server %s;
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen %s;
    location / {
      %s
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Request-Id $request_id;
    }
  }
}
`, zone, origin, addr, use)
		return []string{"nginx", "-p", dir, "-c", file, "-e", "stderr"}, os.WriteFile(file, []byte(text), 0o644)
	}
}

// A limit that is charged by every request and refuses none.
const (
	limitZone = "limit_req_zone $binary_remote_addr zone=limit:10m rate=1000000r/s;"
	limitUse  = "limit_req zone=limit burst=1000000 nodelay;"
)
