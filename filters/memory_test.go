package filters_test

import (
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/porchedge/porch/guest/guesttest"
)

// On the way of a request a filter does not allocate. Go takes memory half a MiB at a time and first collects
// at 4 MiB, so 16 bytes a call would show.
func TestRequestsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const calls = 40_000
	for _, test := range []struct {
		name, configuration string
		request             guesttest.Request
	}{
		{"ratelimit", `{"limit": 1000000, "window": "1m", "key": ["peer", "route", "header:X-Tenant"]}`, guesttest.Request{
			Peer: "2001:db8::1", Header: []guesttest.Field{{Name: "X-Tenant", Value: "t"}},
		}},
		{"ratelimit", `{"limit": 1, "window": "1m"}`, guesttest.Request{}},
		{"idempotency", `{}`, guesttest.Request{
			Method: "POST", Header: []guesttest.Field{{Name: "Idempotency-Key", Value: `"8e03978e"`}},
		}},
		{"replayguard", `{"key": ["header:X-Event-ID", "client"]}`, guesttest.Request{
			Method: "POST", Header: []guesttest.Field{{Name: "X-Event-ID", Value: "e-1"}},
		}},
		{"jwt", `{"algorithms": ["HS256"], "key": {"env": "K"}, "issuer": "i", "audience": "a", "body_hash": "bh", "remove": true}`, guesttest.Request{
			Header: []guesttest.Field{{Name: "Authorization", Value: "Bearer good"}},
		}},
		{"jwt", `{"algorithms": ["HS256"], "key": {"env": "K"}, "issuer": "i", "audience": "a"}`, guesttest.Request{}},
	} {
		m := instantiate(t, test.name, wazero.NewRuntimeConfigCompiler())
		if !m.Configure(m.exports.Configure, test.configuration) {
			t.Fatal(m.Rejections)
		}
		m.Tokens["good"] = guesttest.Token{
			Claims: `{"sub":"u-1","tenant_id":"t-1","bh":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`,
		}
		m.Request(m.exports.Request, test.request)
		before := m.memory.Size()
		for range calls {
			m.Request(m.exports.Request, test.request)
		}
		if after := m.memory.Size(); after != before {
			t.Errorf("%s %s: memory grew from %d to %d bytes in %d calls", test.name, test.configuration, before, after, calls)
		}
	}
}
