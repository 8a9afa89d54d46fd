package demo

import (
	"fmt"
	"strings"
)

// Config is the configuration that the demo runs Porch with: five reads in ten seconds for each client, and
// orders that are placed once. listen is an address, to the URL of the service, data a directory.
func Config(listen, to, data string) string {
	return fmt.Sprintf(`listen: %q
store: { path: %q }
upstreams:
  orders: { targets: [%q] }
filters:
  reads: { module: builtin:ratelimit, config: { limit: 5, window: 10s, key: [peer] } }
  once: { module: builtin:idempotency, config: { header: Idempotency-Key, ttl: 1h } }
routes:
  - { path: /orders, methods: [GET], filters: [reads], upstream: orders }
  - { path: /, filters: [once], upstream: orders }
`, listen, data, to)
}

// Commands is the text that tells what to try at the address of Porch: one command a line, each of which
// can be pasted into a shell as it is.
func Commands(addr string) string {
	url := "http://" + addr + "/orders"
	place := func(item string) string {
		return fmt.Sprintf(`curl -si -H 'Idempotency-Key: order-1' -d '{"item":%q}' %s`, item, url)
	}
	var text strings.Builder
	for _, try := range []struct{ what, command string }{
		{
			"Five reads in ten seconds are allowed; the sixth is 429:",
			`for n in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{http_code}\n' ` + url + `; done`,
		},
		{
			"An order sent twice is placed once; the second answer is a replay of the first:",
			`for n in 1 2; do ` + place("tea") + `; done`,
		},
		{
			"The same key for another order is 422:",
			place("coffee"),
		},
	} {
		fmt.Fprintf(&text, "%s\n\n    %s\n\n", try.what, try.command)
	}
	return text.String()
}
