package acceptance

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Keys as clients may and may not write them.
func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	for _, c := range []struct {
		name  string
		lines string
		want  int
	}{
		{"plain", "Idempotency-Key: k1\r\n", 200},
		{"quoted", "Idempotency-Key: \"k2\"\r\n", 200},
		{"quoted with parameters", "Idempotency-Key: \"k3\";a=1;b\r\n", 200},
		{"escaped quote", "Idempotency-Key: \"k\\\"4\"\r\n", 200},
		{"longest", "Idempotency-Key: " + strings.Repeat("k", 255) + "\r\n", 200},
		{"other case of the name", "IDEMPOTENCY-KEY: k6\r\n", 200},
		{"too long", "Idempotency-Key: " + strings.Repeat("k", 256) + "\r\n", 400},
		{"empty", "Idempotency-Key:\r\n", 400},
		{"blank", "Idempotency-Key:   \r\n", 400},
		{"empty quoted", "Idempotency-Key: \"\"\r\n", 400},
		{"two lines", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", 400},
		{"two identical lines", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", 400},
		{"broken quote", "Idempotency-Key: \"k\r\n", 400},
		{"text after the quote", "Idempotency-Key: \"k\"x\r\n", 400},
		{"not ASCII", "Idempotency-Key: k\xc3\xa4\r\n", 400},
		{"control character", "Idempotency-Key: k\x01\r\n", 400},
		{"tab within", "Idempotency-Key: k\tk\r\n", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(up.rows())
			w := dial(t, p.listen)
			w.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" + c.lines + "\r\norder")
			got := w.hear("POST")
			if c.want == 200 {
				wantStatus(t, got, 200)
				before++
			} else {
				wantProblem(t, got, c.want, blank)
			}
			if n := len(up.rows()); n != before {
				t.Errorf("%d executions, want %d", n, before)
			}
		})
	}
}

func TestKeyIsRequiredWhereTheFilterSaysSo(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h, required: true, methods: [POST]"))
	c := p.client()
	wantProblem(t, c.send(request{method: "POST", body: "order"}), http.StatusBadRequest, blank)
	up.wantRows(0)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PATCH", "DELETE"} {
		wantStatus(t, c.send(request{method: method}), http.StatusOK)
	}
	up.wantRows(5)
}

// A key on a safe method, or on one that the filter does not list, is ignored.
func TestKeyIsIgnoredWhereItMeansNothing(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	for i, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} {
		for range 2 {
			got := p.client().send(request{method: method, key: "k"})
			if got.status != 200 || replayed(got) {
				t.Errorf("%s: %d, replayed %v", method, got.status, replayed(got))
			}
		}
		up.wantRows(2 * (i + 1))
	}
}

func TestDuplicateWaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h, max_wait: 200ms"))
	up.hold()
	owner := p.client().startAll(1, always(request{key: "k", body: "order"}))
	held := up.arrival()
	got := p.client().send(request{key: "k", body: "order"})
	wantProblem(t, got, http.StatusConflict, blank)
	wantRetryAfter(t, got)
	held.answers <- answer{}
	wantReplay(t, p.client().send(request{key: "k", body: "order"}), owner()[0])
	up.wantRows(1)
}

func TestTooManyWaitersAreRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h, max_waiters: 2"))
	up.hold()
	order := request{key: "k", body: "order"}
	owner := p.client().startAll(1, always(order))
	held := up.arrival()
	two := p.client().startAll(2, always(order))
	p.awaitWaiters(2)
	wantUnavailable(t, p.client().send(order))
	held.answers <- answer{}
	first := owner()[0]
	for _, got := range two() {
		wantReplay(t, got, first)
	}
	up.wantRows(1)
}

// 413 applies to a keyed request, not to a route.
func TestKeyedBodyIsBounded(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h, max_request: 1KiB"))
	c := p.client()
	within, over := strings.Repeat("x", 1024), strings.Repeat("x", 1025)
	wantStatus(t, c.send(request{key: "within", body: within}), http.StatusOK)
	wantProblem(t, c.send(request{key: "over", body: over}), http.StatusRequestEntityTooLarge, blank)
	resp, err := c.open(request{key: "chunked"}, strings.NewReader(over+strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %d", resp.StatusCode)
	}
	up.wantRows(1)
	wantStatus(t, c.send(request{body: over}), http.StatusOK)
	up.wantRows(2)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	general, special, api, post := newUpstream(t), newUpstream(t), newUpstream(t), newUpstream(t)
	p := launch(t, config{to: general.address,
		upstreams: fmt.Sprintf(`special: { targets: ["http://%s"] }
  api: { targets: ["http://%s"] }
  post: { targets: ["http://%s"] }`, special.address, api.address, post.address),
		routes: []string{
			"path: /app, upstream: app",
			"path: /app/special, upstream: special",
			"path: /app, methods: [POST], upstream: post",
			"host: api.example, path: /app, upstream: api",
		}})
	c := p.client()
	for _, r := range []struct {
		name string
		r    request
		to   *upstream
	}{
		{"the path itself", request{target: "/app"}, general},
		{"below it", request{target: "/app/x?y"}, general},
		{"whole segments only", request{target: "/apple"}, nil},
		{"the longest path", request{target: "/app/special/x"}, special},
		{"the longest path, other spelling", request{target: "/app/%73pecial"}, nil},
		{"the method", request{target: "/app", method: "POST"}, post},
		{"the host", request{target: "/app/special", host: "api.example"}, api},
		{"the host with a port, in capitals", request{target: "/app", host: "API.Example:80"}, api},
		{"none", request{target: "/"}, nil},
		{"case of the path", request{target: "/App"}, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			before := map[*upstream]int{}
			all := []*upstream{general, special, api, post}
			for _, u := range all {
				before[u] = len(u.rows())
			}
			got := c.send(r.r)
			for _, u := range all {
				want := before[u]
				if u == r.to {
					want++
				}
				if len(u.rows()) != want {
					t.Errorf("%s executed by upstream %d", r.r.target, len(u.rows()))
				}
			}
			switch {
			case r.to != nil:
				wantStatus(t, got, http.StatusOK)
			case strings.Contains(r.r.target, "%"):
				wantProblem(t, got, http.StatusBadRequest, blank) // raw and canonical path choose different routes
			default:
				wantProblem(t, got, http.StatusNotFound, blank)
			}
		})
	}
}

// An upstream that nobody listens for, one that says nothing, one that talks nonsense.
func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	silent := newUpstream(t)
	silent.hold()
	nonsense := serveScript(t, func(_ int, w *wire) {
		w.request()
		w.Write([]byte("SMTP ready\r\n\r\n"))
	})
	gone := serveScript(t, func(_ int, w *wire) { w.request() })
	p := launch(t, config{to: silent.address, upstream: "timeout: 200ms",
		upstreams: fmt.Sprintf(`down: { targets: ["http://%s"] }
  nonsense: { targets: ["http://%s"] }
  gone: { targets: ["http://%s"] }`, freeAddress(t), nonsense.address, gone.address),
		routes: []string{
			"path: /silent, upstream: app",
			"path: /down, upstream: down",
			"path: /nonsense, upstream: nonsense",
			"path: /gone, upstream: gone",
		}})
	for target, status := range map[string]int{"/down": 502, "/silent": 504, "/nonsense": 502, "/gone": 502} {
		wantProblem(t, p.client().send(request{target: target, body: "order"}), status, blank)
		wantProblem(t, p.client().send(request{target: target}), status, blank)
	}
	if n := len(silent.rows()); n != 2 {
		t.Errorf("a request that timed out was sent %d times, want one each", n)
	}
}

// A keyed request whose upstream failed runs again.
func TestUpstreamFailureIsNotStored(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := keepers(up, "ttl: 1h")
	c.upstream = "timeout: 200ms"
	p := launch(t, c)
	up.hold()
	wantProblem(t, p.client().send(request{key: "k", body: "order"}), http.StatusGatewayTimeout, blank)
	up.open()
	got := p.client().send(request{key: "k", body: "order"})
	if got.status != http.StatusOK || replayed(got) {
		t.Errorf("the retry is %d, replayed %v", got.status, replayed(got))
	}
	up.wantRows(2)
}

// An error names the request by the id that the upstream saw.
func TestErrorsNameTheRequest(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, upstreams: fmt.Sprintf(`down: { targets: ["http://%s"] }`, freeAddress(t)),
		routes: []string{"path: /, upstream: app", "path: /down, upstream: down"}})
	seen := map[string]bool{}
	for range 3 {
		doc := wantProblem(t, p.client().send(request{target: "/down"}), http.StatusBadGateway, blank)
		if seen[doc.Instance] {
			t.Errorf("instance %q twice", doc.Instance)
		}
		seen[doc.Instance] = true
		p.client().send(request{})
		id := up.last().header.Get("X-Request-Id")
		if id == "" || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
	}
}

// HEAD gets the head of the error and no body.
func TestErrorToHeadHasNoBody(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, routes: []string{"path: /app, upstream: app"}})
	w := dial(t, p.listen)
	w.say("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /app HTTP/1.1\r\nHost: a\r\n\r\n")
	wantStatus(t, w.hear("HEAD"), http.StatusNotFound)
	wantStatus(t, w.hear("HEAD"), http.StatusOK)
}

// Problem documents tell a client nothing about the machine.
func TestErrorsTellNoAddresses(t *testing.T) {
	t.Parallel()
	down := freeAddress(t)
	p := launch(t, config{to: down})
	got := p.client().send(request{})
	_, port, _ := net.SplitHostPort(down)
	for _, secret := range []string{port, p.dir, "dial", "connection refused"} {
		if strings.Contains(got.body, secret) {
			t.Errorf("the answer tells %q: %s", secret, got.body)
		}
	}
}
