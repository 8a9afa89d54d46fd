package exchange

import (
	"strings"
	"testing"
)

func TestRemoveHopByHop(t *testing.T) {
	for _, test := range []struct {
		name, fields, want string
	}{
		{"nothing to remove", "Accept: */*; X-A: 1", "Accept: */*; X-A: 1"},
		{
			"the fixed names, in any case",
			"A: 1; Connection: keep-alive; KEEP-ALIVE: timeout=5; te: trailers; Upgrade: h2c; Transfer-Encoding: chunked; HTTP2-Settings: x; B: 2",
			"A: 1; B: 2",
		},
		{"all of Proxy", "Proxy: http://evil; Proxy-Connection: close; Proxy-Authorization: x; Proxied: 1", "Proxied: 1"},
		{"names that Connection lists", "X-A: 1; Connection: x-a , ,X-B,close; X-B: 2; X-C: 3", "X-C: 3"},
		{"several Connection lines, before and after", "Connection: x-a; X-A: 1; X-B: 2; connection: X-B", ""},
		{
			"what a message cannot do without stays",
			"Connection: Host, Content-Length, Authorization, Cookie, X-Forwarded-For, Forwarded, Via; Host: a; Content-Length: 3; Authorization: b; Cookie: c; X-Forwarded-For: d; Forwarded: e; Via: f",
			"Host: a; Content-Length: 3; Authorization: b; Cookie: c; X-Forwarded-For: d; Forwarded: e; Via: f",
		},
		{"similar names stay", "Connections: x; TES: 1; Upgrades: 1", "Connections: x; TES: 1; Upgrades: 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := fieldsOf(test.fields)
			h.RemoveHopByHop()
			if got := textOf(&h); got != test.want {
				t.Errorf("left %q, want %q", got, test.want)
			}
		})
	}
}

func TestRemoveHopByHopAllocatesNothing(t *testing.T) {
	h := fieldsOf("Host: a; Accept: */*; User-Agent: t; X-A: 1")
	if n := testing.AllocsPerRun(100, h.RemoveHopByHop); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func fieldsOf(text string) Header {
	var h Header
	for line := range strings.SplitSeq(text, "; ") {
		name, value, _ := strings.Cut(line, ": ")
		h.Add([]byte(name), []byte(value))
	}
	return h
}

func textOf(h *Header) string {
	var lines []string
	for _, f := range h.Fields {
		lines = append(lines, string(f.Name)+": "+string(f.Value))
	}
	return strings.Join(lines, "; ")
}
