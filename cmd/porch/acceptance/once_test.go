package acceptance

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// keepers is a configuration with the idempotency filter on every route.
func keepers(up *upstream, settings string) config {
	return config{to: up.address, filters: []filter{idempotency(settings)}}
}

// A7: a keyed POST replayed, at once and after a restart.
func TestReplayIsTheSameBytes(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	c := p.client()
	var bytes strings.Builder
	for i := range 4096 {
		bytes.WriteByte(byte(i))
	}
	order := request{target: "/orders?x=1", key: "k", body: "one order", header: header("Content-Type", "text/plain")}
	up.hold()
	first := c.startAll(1, always(order))
	up.arrival().answers <- answer{status: 201, body: bytes.String(), header: header(
		"Content-Type", "application/x-bytes", "Location", "/orders/1", "Etag", `"v1"`)}
	up.open()
	got := first()[0]
	wantStatus(t, got, http.StatusCreated)
	if replayed(got) {
		t.Error("the execution itself carries the marker of a replay")
	}
	check := func(again reply) {
		t.Helper()
		wantReplay(t, again, got)
		for _, name := range []string{"Content-Type", "Location", "Etag"} {
			if again.header.Get(name) != got.header.Get(name) {
				t.Errorf("%s is %q, was %q", name, again.header.Get(name), got.header.Get(name))
			}
		}
		up.wantRows(1)
	}
	check(c.send(order))
	order.key = `"k"` // the same key, quoted as a structured field
	check(c.send(order))
	order.key = `"k";a=1`
	check(c.send(order))
	p.restart()
	check(c.send(order))
	p.kill()
	p.begin()
	check(c.send(order))
}

// A8: the same key with another request.
func TestKeyOfAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	c := p.client()
	first := request{method: "POST", target: "/orders", key: "k", body: "a", header: header("Content-Type", "text/plain")}
	wantStatus(t, c.send(first), http.StatusOK)
	for _, other := range []struct {
		name   string
		change func(r *request)
	}{
		{"body", func(r *request) { r.body = "b" }},
		{"no body", func(r *request) { r.body = "" }},
		{"path", func(r *request) { r.target = "/invoices" }},
		{"query", func(r *request) { r.target = "/orders?a" }},
		{"method", func(r *request) { r.method = "PATCH" }},
		{"authority", func(r *request) { r.host = "other.example" }},
		{"content type", func(r *request) { r.header = header("Content-Type", "application/json") }},
	} {
		t.Run(other.name, func(t *testing.T) {
			r := first
			other.change(&r)
			wantProblem(t, c.send(r), http.StatusUnprocessableEntity, blank)
		})
	}
	up.wantRows(1)
	again := c.send(first)
	if !replayed(again) {
		t.Error("the first request is no longer replayed")
	}
}

// A mismatch is told while the first request still runs: nobody waits for it.
func TestKeyOfAnotherRequestIsRefusedInFlight(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	first := p.client().startAll(1, always(request{key: "k", body: "a"}))
	held := up.arrival()
	wantProblem(t, p.client().send(request{key: "k", body: "b"}), http.StatusUnprocessableEntity, blank)
	held.answers <- answer{}
	wantStatus(t, first()[0], http.StatusOK)
	up.wantRows(1)
}

// A9: 50 identical keyed POSTs at once.
func TestDuplicatesShareOneExecution(t *testing.T) {
	t.Parallel()
	const n = 50
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	all := p.client().startAll(n, always(request{key: "k", body: "order"}))
	held := up.arrival()
	p.awaitWaiters(n - 1)
	held.answers <- answer{status: 201, body: "made once"}
	replies := all()
	markers := 0
	for _, got := range replies {
		if got.status != 201 || got.body != "made once" {
			t.Errorf("%d %q", got.status, got.body)
		}
		if replayed(got) {
			markers++
		}
	}
	if markers != n-1 {
		t.Errorf("%d of %d are marked as replays", markers, n)
	}
	up.wantRows(1)
}

// awaitWaiters returns when n requests wait for flights.
func (p *process) awaitWaiters(n int) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%d wait", n), func() bool { return p.metrics().sum(waiters) == float64(n) })
}

// A10: the owner's run ends in 500 while others wait.
func TestFailedRunWakesTheNext(t *testing.T) {
	t.Parallel()
	const n = 6
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	all := p.client().startAll(n, always(request{key: "k", body: "order"}))
	for run := range 3 {
		held := up.arrival()
		p.awaitWaiters(n - 1 - run)
		if up.held() != 1 {
			t.Errorf("%d run at a time", up.held())
		}
		held.answers <- answer{status: 500, body: "no"}
	}
	held := up.arrival()
	p.awaitWaiters(n - 4)
	held.answers <- answer{status: 200, body: "yes"}
	replies := all()
	if count(replies, 500) != 3 || count(replies, 200) != n-3 {
		t.Errorf("%d failed and %d succeeded, want 3 and %d", count(replies, 500), count(replies, 200), n-3)
	}
	for _, got := range replies {
		if got.status == 500 && (got.body != "no" || replayed(got)) {
			t.Errorf("a failed run's own answer is %q, replayed %v", got.body, replayed(got))
		}
	}
	up.wantRows(4)
	if got := p.client().send(request{key: "k", body: "order"}); got.body != "yes" || !replayed(got) {
		t.Errorf("later: %d %q", got.status, got.body)
	}
	up.wantRows(4)
}

// A11, for every status that is no success: what failed is run again.
func TestFailureIsNotStored(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	c := p.client()
	for i, status := range []int{503, 500, 429, 404, 400} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			order := request{key: fmt.Sprint(status), body: "order"}
			up.hold()
			first := c.startAll(1, always(order))
			up.arrival().answers <- answer{status: status, body: "not now"}
			up.open()
			if got := first()[0]; got.status != status || got.body != "not now" {
				t.Errorf("%d %q", got.status, got.body)
			}
			retry := c.send(order)
			if retry.status != 200 || replayed(retry) {
				t.Errorf("the retry is %d, replayed %v", retry.status, replayed(retry))
			}
			wantReplay(t, c.send(order), retry)
			up.wantRows(2 * (i + 1))
		})
	}
}

// A redirection is a result like any other success.
func TestRedirectionIsStored(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	c := p.client()
	up.hold()
	first := c.startAll(1, always(request{key: "k", body: "order"}))
	up.arrival().answers <- answer{status: 303, header: header("Location", "/orders/7")}
	got := first()[0]
	again := c.send(request{key: "k", body: "order"})
	wantReplay(t, again, got)
	if again.status != 303 || again.header.Get("Location") != "/orders/7" {
		t.Errorf("%d to %q", again.status, again.header.Get("Location"))
	}
	up.wantRows(1)
}

// A12: a pool of one shard with a mailbox of 4, and 20 distinct keyed requests at once.
func TestPoolRefusesMoreFlightsThanItHolds(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := keepers(up, "ttl: 1h")
	c.pool = "shards: 1, mailbox: 4"
	p := launch(t, c)
	up.hold()
	early := p.client().startAll(20, keyed("key", request{body: "order"}))
	for range 4 {
		up.arrival()
	}
	await(t, "16 are refused", func() bool {
		return p.metrics().sum("porch_http_requests_total", `status="5xx"`) == 16
	})
	if up.held() != 4 {
		t.Errorf("%d reach the upstream, want 4", up.held())
	}
	up.open()
	replies := early()
	if count(replies, 200) != 4 || count(replies, 503) != 16 {
		t.Errorf("%d succeed and %d are refused, want 4 and 16", count(replies, 200), count(replies, 503))
	}
	for _, got := range replies {
		if got.status == 503 {
			wantUnavailable(t, got)
		}
	}
	wantStatus(t, p.client().send(request{key: "new", body: "order"}), http.StatusOK)
	up.wantRows(5)
}

// A13: a keyed request held at the upstream, and another key on the same shard.
func TestSlowKeyHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	c := keepers(up, "ttl: 1h")
	c.pool = "shards: 1"
	p := launch(t, c)
	up.hold()
	slow := p.client().startAll(1, always(request{key: "slow", body: "order"}))
	first := up.arrival()
	quick := p.client().startAll(1, always(request{key: "quick", body: "order"}))
	up.arrival().answers <- answer{}
	wantStatus(t, quick()[0], http.StatusOK)
	if up.held() != 1 {
		t.Errorf("%d held, want the slow one alone", up.held())
	}
	first.answers <- answer{}
	wantStatus(t, slow()[0], http.StatusOK)
}

// A15: the client hangs up while its keyed request runs, then retries.
func TestHangUpDoesNotCancelTheRun(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	w := dial(t, p.listen)
	w.say("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 5\r\n\r\norder")
	held := up.arrival()
	w.Close()
	held.answers <- answer{status: 201, body: "made"}
	got := p.client().send(request{key: "k", body: "order", host: "a"})
	if got.status != 201 || got.body != "made" || !replayed(got) {
		t.Errorf("the retry is %d %q, replayed %v", got.status, got.body, replayed(got))
	}
	up.wantRows(1)
}

// A15: the client hangs up half way through sending its keyed request.
func TestHalfARequestIsNotExecuted(t *testing.T) {
	t.Parallel()
	for _, framing := range []struct{ name, head, half string }{
		{"content length", "Content-Length: 10\r\n", "order"},
		{"chunked, in a chunk", "Transfer-Encoding: chunked\r\n", "a\r\norder"},
		{"chunked, between chunks", "Transfer-Encoding: chunked\r\n", "5\r\norder\r\n"},
		{"chunked, before the last line", "Transfer-Encoding: chunked\r\n", "a\r\norderorder\r\n0\r\n"},
	} {
		t.Run(framing.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, keepers(up, "ttl: 1h"))
			w := dial(t, p.listen)
			w.say("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n" + framing.head + "\r\n" + framing.half)
			await(t, "the rest of the body is awaited", func() bool { return p.metrics().sum(inFlight) == 1 })
			w.Close()
			await(t, "porch has given up", func() bool { return p.metrics().sum(inFlight) == 0 })
			if n := up.received.Load(); n != 0 {
				t.Errorf("%d bytes of half a request reached the upstream", n)
			}
			order := request{key: "k", body: "orderorder", host: "a"}
			got := p.client().send(order)
			if got.status != 200 || replayed(got) {
				t.Errorf("the whole request is %d, replayed %v", got.status, replayed(got))
			}
			wantReplay(t, p.client().send(order), got)
			up.wantRows(1)
		})
	}
}

// A keyed request whose body is there and empty.
func TestEmptyBodyIsHeld(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	w := dial(t, p.listen)
	for _, framing := range []string{"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Content-Length: 0\r\n\r\n", "\r\n"} {
		w.say("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n" + framing)
		wantStatus(t, w.hear("POST"), http.StatusOK)
	}
	up.wantRows(1)
}

// A16: what belongs to one client, one moment or one connection is not replayed.
func TestReplayLeavesOutWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h, headers: [X-Order]"))
	c := p.client()
	lastYear := time.Now().AddDate(-1, 0, 0).UTC().Format(http.TimeFormat)
	up.hold()
	first := c.startAll(1, always(request{key: "k", body: "order"}))
	up.arrival().answers <- answer{status: 200, body: "made", header: header(
		"Set-Cookie", "session=1", "Date", lastYear, "Proxy-Authenticate", "Basic", "Keep-Alive", "timeout=5",
		"X-Order", "7", "X-Other", "8", "Vary", "Accept", "Link", "</orders/7>", "Last-Modified", lastYear)}
	got := first()[0]
	if got.header.Get("Set-Cookie") != "session=1" || got.header.Get("X-Other") != "8" || len(got.header.Values("Date")) != 1 {
		t.Errorf("the owner's response is not the upstream's: %v", got.header)
	}
	again := c.send(request{key: "k", body: "order"})
	wantReplay(t, again, got)
	for _, name := range []string{"Set-Cookie", "Proxy-Authenticate", "Keep-Alive", "X-Other", "Connection"} {
		if values := again.header.Values(name); len(values) > 0 {
			t.Errorf("replayed with %s: %q", name, values)
		}
	}
	for name, want := range map[string]string{"X-Order": "7", "Vary": "Accept", "Link": "</orders/7>", "Last-Modified": lastYear} {
		if again.header.Get(name) != want {
			t.Errorf("replayed with %s %q, want %q", name, again.header.Get(name), want)
		}
	}
	date, err := http.ParseTime(again.header.Get("Date"))
	if age := time.Since(date); err != nil || age > patience || len(again.header.Values("Date")) != 1 {
		t.Errorf("replayed with Date %q", again.header.Values("Date"))
	}
}

// A17: a response above the cap.
func TestLargeResponseReachesItsOwnerAlone(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("0123456789abcdef", 64<<10/16) // 64 KiB, the cap is 16
	for _, framing := range []string{"content length", "chunked"} {
		t.Run(framing, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, keepers(up, "ttl: 1h, max_response: 16KiB"))
			a := answer{status: 200, body: whole}
			if framing == "content length" {
				a.header = header("Content-Length", fmt.Sprint(len(whole)))
			}
			order := request{key: "k", body: "order"}
			up.hold()
			all := p.client().startAll(3, always(order))
			held := up.arrival()
			p.awaitWaiters(2)
			held.answers <- a
			replies := all()
			slices.SortFunc(replies, func(a, b reply) int { return a.status - b.status })
			if replies[0].status != 200 || replies[0].body != whole {
				t.Errorf("the owner has %d with %d bytes, want %d", replies[0].status, len(replies[0].body), len(whole))
			}
			replies = append(replies, p.client().send(order))
			p.restart()
			for _, got := range append(replies[1:], p.client().send(order)) {
				wantProblem(t, got, http.StatusConflict, blank)
				if got.header.Get("Retry-After") != "" {
					t.Error("409 for good with Retry-After")
				}
			}
			up.wantRows(1)
		})
	}
}

// The marker of a response that outgrew the cap stands before the owner has read it to its end.
func TestLargeResponseIsMarkedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	end := make(chan struct{})
	up := serveUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		runs.Add(1)
		io.WriteString(w, strings.Repeat("x", 64<<10))
		w.(http.Flusher).Flush()
		<-end
		io.WriteString(w, "the end")
	})
	p := launch(t, keepers(up, "ttl: 1h, max_response: 16KiB"))
	owner, err := p.client().open(request{key: "k", body: "order"}, strings.NewReader("order"))
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Body.Close()
	if _, err := io.ReadFull(owner.Body, make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, p.client().send(request{key: "k", body: "order"}), http.StatusConflict, blank)
	close(end)
	rest, err := io.ReadAll(owner.Body)
	if err != nil || !strings.HasSuffix(string(rest), "the end") {
		t.Errorf("the owner's rest is %d bytes, %v", len(rest), err)
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("%d executions", n)
	}
}
