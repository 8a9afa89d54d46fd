package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Keys, addresses, tokens and targets are in no metric, in no log line, and in no file of the store in clear.
func TestIdentitiesStayPrivate(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, further: "trusted_proxies: [127.0.0.0/8]",
		upstreams: fmt.Sprintf(`down: { targets: ["http://%s"] }`, freeAddress(t)),
		filters: []filter{
			ratelimit(`limit: 1, window: 1h, key: [client, "header:X-Token"]`),
			idempotency("ttl: 1h"),
		},
		routes: []string{
			"path: /, filters: [per-client, once], upstream: app",
			"path: /down, filters: [once], upstream: down",
		}})
	const token, key, target, client, body = "token-7f3a", "key-91bd", "/orders/secret-44c0", "192.0.2.77", "body-5e21"
	from := header("X-Forwarded-For", client, "X-Token", token)
	c := p.client()
	r := request{target: target, key: key, header: from, body: body}
	wantStatus(t, c.send(r), http.StatusOK)
	wantStatus(t, c.send(r), http.StatusTooManyRequests)
	r.target = "/down" + target
	wantStatus(t, c.send(r), http.StatusUnprocessableEntity)
	r.key += "-other"
	wantStatus(t, c.send(r), http.StatusBadGateway)
	w := dial(t, p.listen)
	w.say("GET " + target + " HTTP/1.1\r\nHost: a\r\nX-Token : " + token + "\r\n\r\n")
	wantStatus(t, w.hear("GET"), http.StatusBadRequest)

	_, page := p.ask("/metrics")
	p.terminate()
	places := map[string]string{"/metrics": page, "the log": p.stderr.String()}
	err := filepath.Walk(p.data(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		places[filepath.Base(path)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		for _, secret := range []string{token, key, "secret-44c0", client} {
			if strings.Contains(text, secret) {
				t.Errorf("%s tells %q", place, secret)
			}
		}
	}
}
