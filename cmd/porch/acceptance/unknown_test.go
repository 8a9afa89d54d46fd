package acceptance

import (
	"net/http"
	"testing"
)

// A14: kill -9 while a keyed request is at the upstream, then a retry.
func TestCrashAtTheUpstream(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		setting string
		status  int
		rows    int
	}{{"rerun", http.StatusOK, 2}, {"refuse", http.StatusConflict, 1}} {
		t.Run(way.setting, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, config{to: up.address, filters: []filter{idempotency("ttl: 1h, on_unknown: " + way.setting)}})
			order := request{key: "k", body: "order"}
			up.hold()
			w := dial(t, p.listen)
			w.say("POST / HTTP/1.1\r\nHost: " + p.listen + "\r\nIdempotency-Key: k\r\nContent-Length: 5\r\n\r\norder")
			up.arrival()
			p.kill()
			up.open()
			p.begin()
			got := p.client().send(order)
			wantStatus(t, got, way.status)
			if way.setting == "refuse" {
				wantProblem(t, got, http.StatusConflict, blank)
				if got.header.Get("Retry-After") != "" {
					t.Error("409 for good with Retry-After")
				}
			}
			other := order
			other.body = "another order"
			wantStatus(t, p.client().send(other), http.StatusUnprocessableEntity)
			up.wantRows(way.rows)
		})
	}
}

// An upstream that refuses the connection has had nothing of the request: the retry runs.
func TestUnsentRequestIsNotUnknown(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: freeAddress(t), filters: []filter{idempotency("ttl: 1h, on_unknown: refuse")}})
	order := request{key: "k", body: "order"}
	wantStatus(t, p.client().send(order), http.StatusBadGateway)
	wantStatus(t, p.client().send(order), http.StatusBadGateway)
	p.terminate()
	p.configure(config{to: up.address, filters: []filter{idempotency("ttl: 1h, on_unknown: refuse")}})
	p.begin()
	got := p.client().send(order)
	wantStatus(t, got, http.StatusOK)
	wantReplay(t, p.client().send(order), got)
	up.wantRows(1)
}

// Two tenants may use the same key, and never see each other's responses.
func TestScopesKeepTenantsApart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{idempotency(`ttl: 1h, scope: ["header:X-Tenant"]`)}})
	of := func(tenant string) request {
		return request{key: "k", body: "order", header: header("X-Tenant", tenant)}
	}
	a, b := p.client().send(of("a")), p.client().send(of("b"))
	if a.body == b.body || replayed(a) || replayed(b) {
		t.Errorf("tenants got %q and %q", a.body, b.body)
	}
	wantReplay(t, p.client().send(of("a")), a)
	wantReplay(t, p.client().send(of("b")), b)
	wantStatus(t, p.client().send(request{key: "k", body: "order"}), http.StatusBadRequest)
	up.wantRows(2)
}
