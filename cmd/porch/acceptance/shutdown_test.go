package acceptance

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// The first SIGTERM: not ready, no new connections, what is under way ends well, exit code 0.
func TestFirstSignalDrains(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, keepers(up, "ttl: 1h"))
	up.hold()
	replies := p.client().startAll(3, func(i int) request {
		return []request{{key: "k", body: "order"}, {key: "k", body: "order"}, {target: "/plain"}}[i]
	})
	up.arrival()
	up.arrival()
	p.awaitWaiters(1)
	p.signal(syscall.SIGTERM)
	await(t, "porch is not ready", func() bool { return p.readiness() == http.StatusServiceUnavailable })
	if _, why := p.ask("/readyz"); !strings.Contains(why, "drain") {
		t.Errorf("/readyz does not say that it drains: %q", why)
	}
	if status, _ := p.ask("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d while draining", status)
	}
	await(t, "no new connection is taken", func() bool {
		c, err := net.Dial("tcp", p.listen)
		if err != nil {
			return true
		}
		c.Close()
		return false
	})
	up.open()
	for _, got := range replies() {
		wantStatus(t, got, http.StatusOK)
	}
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.begin()
	if got := p.client().send(request{key: "k", body: "order"}); !replayed(got) {
		t.Errorf("what ended in the drain is not replayed: %d", got.status)
	}
}

// An idle keep-alive connection does not hold up the end.
func TestIdleConnectionsDoNotHoldUpTheDrain(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, proxies(up.address))
	idle, silent := dial(t, p.listen), dial(t, p.listen)
	idle.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	wantStatus(t, idle.hear("GET"), http.StatusOK)
	up.hold()
	busy := p.client().startAll(1, always(request{}))
	held := up.arrival()
	p.signal(syscall.SIGTERM)
	if !idle.closed() || !silent.closed() {
		t.Error("an idle connection outlives the signal")
	}
	if p.hasExited() {
		t.Error("porch left while a request was under way")
	}
	held.answers <- answer{}
	wantStatus(t, busy()[0], http.StatusOK)
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The second signal ends at once, whatever is under way.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, proxies(up.address))
			up.hold()
			lost := start(1, func(int) { p.client().try(request{}) })
			up.arrival()
			p.signal(syscall.SIGTERM)
			await(t, "porch drains", func() bool { return p.readiness() == http.StatusServiceUnavailable })
			p.signal(second)
			if code := p.exitCode(); code == 0 {
				t.Error("exit code 0 though a request was cut off")
			}
			lost()
		})
	}
}

// A drain that takes longer than it may ends all the same.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, server: "drain: 1s"})
	up.hold()
	lost := start(1, func(int) { p.client().try(request{}) })
	up.arrival()
	p.signal(syscall.SIGTERM)
	p.exitCode()
	lost()
}
