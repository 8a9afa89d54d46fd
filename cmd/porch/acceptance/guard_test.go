package acceptance

import (
	"fmt"
	"net/http"
	"testing"
)

func replayguard(config string) filter {
	return filter{name: "guard", module: "builtin:replayguard", config: config, settings: patient}
}

func event(id string) request {
	return request{body: "{}", header: header("X-Event-ID", id)}
}

// Of any number of copies one passes, over kill -9 while it is at the upstream.
func TestGuardLetsOneCopyPass(t *testing.T) {
	t.Parallel()
	const copies = 50
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{replayguard(`key: ["header:X-Event-ID"], ttl: 1h`)}})
	replies := p.client().sendAll(copies, func(int) request { return event("e") })
	if passed, refused := count(replies, 200), count(replies, 409); passed != 1 || refused != copies-1 {
		t.Errorf("%d passed and %d were refused, want 1 and %d", passed, refused, copies-1)
	}
	up.wantRows(1)
	doc := wantProblem(t, p.client().send(event("e")), http.StatusConflict, blank)
	if doc.Detail == "" {
		t.Error("no detail")
	}

	up.hold()
	w := dial(t, p.listen)
	w.say("POST / HTTP/1.1\r\nHost: " + p.listen + "\r\nX-Event-ID: at-the-upstream\r\nContent-Length: 2\r\n\r\n{}")
	up.arrival()
	p.kill()
	up.open()
	p.begin()
	wantStatus(t, p.client().send(event("at-the-upstream")), http.StatusConflict)
	wantStatus(t, p.client().send(event("e")), http.StatusConflict)
	wantStatus(t, p.client().send(event("another")), http.StatusOK)
	up.wantRows(3)
}

// What provably never reached the upstream may come again.
func TestGuardForgetsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	guard := replayguard(`key: ["header:X-Event-ID"], ttl: 1h`)
	p := launch(t, config{to: up.address, filters: []filter{guard, ratelimit("limit: 1, window: 12h")}})
	wantStatus(t, p.client().send(event("first")), http.StatusOK)
	wantStatus(t, p.client().send(event("later")), http.StatusTooManyRequests)
	p.terminate()
	p.configure(config{to: freeAddress(t), filters: []filter{guard}})
	p.begin()
	wantStatus(t, p.client().send(event("later")), http.StatusBadGateway)
	p.terminate()
	p.configure(config{to: up.address, filters: []filter{guard}})
	p.begin()
	wantStatus(t, p.client().send(event("later")), http.StatusOK)
	wantStatus(t, p.client().send(event("later")), http.StatusConflict)
	up.wantRows(2)
}

// A failure of the upstream is no proof that nothing happened.
func TestGuardKeepsWhatFailed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{replayguard("ttl: 1h")}})
	up.hold()
	first := p.client().startAll(1, always(request{body: "event"}))
	up.arrival().answers <- answer{status: 500, body: "no"}
	up.open()
	wantStatus(t, first()[0], 500)
	wantStatus(t, p.client().send(request{body: "event"}), http.StatusConflict)
	wantStatus(t, p.client().send(request{body: "another event"}), http.StatusOK)
	wantStatus(t, p.client().send(request{method: "POST"}), http.StatusBadRequest)
	wantStatus(t, p.client().send(request{}), http.StatusOK)
	up.wantRows(3)
}

// A24, of a guard: no new event is admitted, and none that was is forgotten.
func TestFullGuard(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{replayguard(`key: ["header:X-Event-ID"], ttl: 1h, max_keys: 4`)}})
	for i := range 4 {
		wantStatus(t, p.client().send(event(fmt.Sprint(i))), http.StatusOK)
	}
	wantUnavailable(t, p.client().send(event("new")))
	for i := range 4 {
		wantStatus(t, p.client().send(event(fmt.Sprint(i))), http.StatusConflict)
	}
	up.wantRows(4)
}
