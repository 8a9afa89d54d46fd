package upstream

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

// sentHead is the head that goes upstream for x.
func sentHead(t *testing.T, host config.HostPolicy, x *exchange.Exchange) (string, error) {
	t.Helper()
	u := &Upstream{host: host}
	head, err := u.appendHead(nil, x, &target{authority: "10.1.1.1:9000"})
	return string(head), err
}

func TestRequestHead(t *testing.T) {
	const tail = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: example.com\r\nX-Forwarded-Proto: http\r\n" +
		"Forwarded: for=192.0.2.7;host=example.com;proto=http\r\nVia: 1.1 porch\r\nX-Request-Id: id-1\r\n"
	for _, test := range []struct {
		name   string
		change func(x *exchange.Exchange)
		host   config.HostPolicy
		want   string
	}{
		{"plain", func(*exchange.Exchange) {}, config.HostClient, "GET / HTTP/1.1\r\nHost: example.com\r\n" + tail + "\r\n"},
		{
			"the target byte for byte",
			func(x *exchange.Exchange) {
				x.Request.Path, x.Request.Query, x.Request.HasQuery = []byte("/a%2Fb//c/../%78"), []byte("q=%20+&&x"), true
			},
			config.HostClient,
			"GET /a%2Fb//c/../%78?q=%20+&&x HTTP/1.1\r\nHost: example.com\r\n" + tail + "\r\n",
		},
		{
			"an empty query keeps its mark",
			func(x *exchange.Exchange) { x.Request.HasQuery = true },
			config.HostClient,
			"GET /? HTTP/1.1\r\nHost: example.com\r\n" + tail + "\r\n",
		},
		{
			"the asterisk",
			func(x *exchange.Exchange) { x.Request.Method, x.Request.Path = "OPTIONS", []byte("*") },
			config.HostClient,
			"OPTIONS * HTTP/1.1\r\nHost: example.com\r\n" + tail + "\r\n",
		},
		{
			"the target's host",
			func(x *exchange.Exchange) { x.Request.Header = headerOf("Host: example.com") },
			config.HostTarget,
			"GET / HTTP/1.1\r\nHost: 10.1.1.1:9000\r\n" + tail + "\r\n",
		},
		{
			"fields in order and as written, several of a name",
			func(x *exchange.Exchange) {
				x.Request.Header = headerOf("accept: */*; Cookie: a; X-b: 1; Cookie: b; X-B: 2")
			},
			config.HostClient,
			"GET / HTTP/1.1\r\nHost: example.com\r\naccept: */*\r\nCookie: a\r\nX-b: 1\r\nCookie: b\r\nX-B: 2\r\n" + tail + "\r\n",
		},
		{
			"what ends here",
			func(x *exchange.Exchange) {
				x.Request.Header = headerOf("Connection: close, X-Hop; X-Hop: 1; Keep-Alive: 5; TE: trailers; Trailer: X; Upgrade: h2c; " +
					"Proxy-Authorization: x; Expect: 100-continue; Content-Length: 0; X-Request-Id: forged; A: 1")
			},
			config.HostClient,
			"GET / HTTP/1.1\r\nHost: example.com\r\nA: 1\r\n" + tail + "\r\n",
		},
		{
			"a held body's length, not the client's",
			func(x *exchange.Exchange) {
				x.Request.Method, x.Request.Body = "POST", []byte("hello")
				x.Request.Header = headerOf("Content-Length: 7; Transfer-Encoding: chunked")
			},
			config.HostClient,
			"POST / HTTP/1.1\r\nHost: example.com\r\n" + tail + "Content-Length: 5\r\n\r\n",
		},
		{
			"an empty body where one is expected",
			func(x *exchange.Exchange) { x.Request.Method = "PATCH" },
			config.HostClient,
			"PATCH / HTTP/1.1\r\nHost: example.com\r\n" + tail + "Content-Length: 0\r\n\r\n",
		},
		{
			"a stream of known length",
			func(x *exchange.Exchange) { *x = *put(strings.NewReader(""), 1<<40) },
			config.HostClient,
			"PUT / HTTP/1.1\r\nHost: example.com\r\n" + tail + "Content-Length: 1099511627776\r\n\r\n",
		},
		{
			"a stream of unknown length",
			func(x *exchange.Exchange) { *x = *put(strings.NewReader(""), -1) },
			config.HostClient,
			"PUT / HTTP/1.1\r\nHost: example.com\r\n" + tail + "Transfer-Encoding: chunked\r\n\r\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := get()
			test.change(x)
			got, err := sentHead(t, test.host, x)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("sent\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestForwardedFields(t *testing.T) {
	const forged = "X-Forwarded-For: 10.9.9.9; X-Forwarded-Port: 1; X-Forwarded-Host: evil; Forwarded: for=10.9.9.9; " +
		"x-forwarded-for: 198.51.100.1; X-Forwarded-Proto: https; Via: 1.0 outer"
	for _, test := range []struct {
		name, peer, authority string
		trusted               bool
		fields, want          string
	}{
		{
			"an untrusted peer's are replaced", "192.0.2.7", "example.com:8080", false, forged,
			`X-Forwarded-For: 192.0.2.7; X-Forwarded-Host: example.com:8080; X-Forwarded-Proto: http; Forwarded: for=192.0.2.7;host="example.com:8080";proto=http; Via: 1.0 outer, 1.1 porch`,
		},
		{
			"a trusted proxy's are continued", "192.0.2.7", "example.com", true, forged,
			`X-Forwarded-For: 10.9.9.9, 198.51.100.1, 192.0.2.7; X-Forwarded-Host: evil, example.com; X-Forwarded-Proto: https, http; ` +
				`Forwarded: for=10.9.9.9, for=192.0.2.7;host=example.com;proto=http; Via: 1.0 outer, 1.1 porch; X-Forwarded-Port: 1`,
		},
		{
			"IPv6 is quoted in Forwarded alone", "2001:db8::1", "[2001:db8::2]:80", false, "",
			`X-Forwarded-For: 2001:db8::1; X-Forwarded-Host: [2001:db8::2]:80; X-Forwarded-Proto: http; Forwarded: for="[2001:db8::1]";host="[2001:db8::2]:80";proto=http; Via: 1.1 porch`,
		},
		{
			"an IPv4-mapped address is IPv4", "::ffff:192.0.2.7", "a", false, "",
			`X-Forwarded-For: 192.0.2.7; X-Forwarded-Host: a; X-Forwarded-Proto: http; Forwarded: for=192.0.2.7;host=a;proto=http; Via: 1.1 porch`,
		},
		{
			"a zone stays here", "fe80::1%eth0", "a", false, "",
			`X-Forwarded-For: fe80::1; X-Forwarded-Host: a; X-Forwarded-Proto: http; Forwarded: for="[fe80::1]";host=a;proto=http; Via: 1.1 porch`,
		},
		{
			"a peer without an address", "", "a", false, "",
			`X-Forwarded-For: unknown; X-Forwarded-Host: a; X-Forwarded-Proto: http; Forwarded: for=unknown;host=a;proto=http; Via: 1.1 porch`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := get()
			x.Peer = netip.Addr{}
			if test.peer != "" {
				x.Peer = netip.MustParseAddr(test.peer)
			}
			x.PeerTrusted = test.trusted
			x.Request.Authority = []byte(test.authority)
			x.Request.Header = headerOf(test.fields)
			head, err := sentHead(t, config.HostClient, x)
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(head, "Host: "+test.authority+"\r\n")
			got, _, _ = strings.Cut(got, "\r\nX-Request-Id")
			if got = strings.ReplaceAll(got, "\r\n", "; "); got != test.want {
				t.Errorf("sent\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A filter's rewrite must not become a second request, and nothing of it may leave.
func TestUnsendableRequests(t *testing.T) {
	for name, change := range map[string]func(r *exchange.Request){
		"method with a space":         func(r *exchange.Request) { r.Method = "GET /" },
		"no method":                   func(r *exchange.Request) { r.Method = "" },
		"path with a line end":        func(r *exchange.Request) { r.Path = []byte("/\r\nX: 1") },
		"path with a space":           func(r *exchange.Request) { r.Path = []byte("/a b") },
		"path that is an authority":   func(r *exchange.Request) { r.Path = []byte("http://a/") },
		"no path":                     func(r *exchange.Request) { r.Path = nil },
		"query with a fragment":       func(r *exchange.Request) { r.HasQuery, r.Query = true, []byte("a#b") },
		"authority with a line end":   func(r *exchange.Request) { r.Authority = []byte("a\r\nX: 1") },
		"field name with a colon":     func(r *exchange.Request) { r.Header.Add([]byte("A: b"), nil) },
		"empty field name":            func(r *exchange.Request) { r.Header.Add(nil, []byte("b")) },
		"field value with a line end": func(r *exchange.Request) { r.Header.Add([]byte("A"), []byte("b\nX: 1")) },
	} {
		t.Run(name, func(t *testing.T) {
			x := get()
			change(&x.Request)
			if head, err := sentHead(t, config.HostClient, x); !errors.Is(err, errUnsendable) {
				t.Errorf("got %v for %q, want errUnsendable", err, head)
			}
		})
	}
	u := dial(t, listen(t, always(hello)))
	x := get()
	x.Request.Path = []byte("/\r\n")
	refuse(t, u, x, Unsendable, false)
	if s := u.Stats(); s.Idle != 1 {
		t.Errorf("the connection that nothing was written to is not in the pool: %+v", s)
	}
}
