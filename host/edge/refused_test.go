package edge

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRefused sends what fasthttp would take for a request, and what it would not: each is refused with
// a problem document and a connection that ends, and not one byte reaches the upstream.
func TestRefused(t *testing.T) {
	const host = "Host: a\r\n"
	tests := []struct {
		name, raw string
		status    int
	}{
		{"version 0.9 with a number", "GET / HTTP/0.9\r\n" + host + "\r\n", 505},
		{"version 1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", 505},
		{"version 2.0", "GET / HTTP/2.0\r\n" + host + "\r\n", 505},
		{"version 2", "GET / HTTP/2\r\n" + host + "\r\n", 505},
		{"no version", "GET /\r\n" + host + "\r\n", 400},
		{"two words of path", "GET /a b HTTP/1.1\r\n" + host + "\r\n", 400},
		{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		{"TLS on the plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"lower-case method", "get / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"mixed-case method", "Get / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"CONNECT", "CONNECT a:443 HTTP/1.1\r\n" + host + "\r\n", 501},
		{"TRACE", "TRACE / HTTP/1.1\r\n" + host + "\r\n", 501},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
		{"two Hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
		{"two Hosts, 1.0", "GET / HTTP/1.0\r\n" + host + host + "\r\n", 400},
		{"user information in Host", "GET / HTTP/1.1\r\nHost: u:p@a\r\n\r\n", 400},
		{"user information in the target", "GET http://u:p@a/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"comma in Host", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400},
		{"path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		{"port that is no number", "GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", 400},
		{"port out of range", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400},
		{"zone in Host", "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", 400},
		{"target and Host differ", "GET http://b/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"other scheme", "GET ftp://a/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"fragment", "GET /a#b HTTP/1.1\r\n" + host + "\r\n", 400},
		{"control character in the target", "GET /a\x01 HTTP/1.1\r\n" + host + "\r\n", 400},
		{"delete in the target", "GET /a\x7f HTTP/1.1\r\n" + host + "\r\n", 400},
		{"asterisk of GET", "GET * HTTP/1.1\r\n" + host + "\r\n", 400},
		{"target without slash", "GET a HTTP/1.1\r\n" + host + "\r\n", 400},
		{"percent sign alone", "GET /%zz HTTP/1.1\r\n" + host + "\r\n", 400},
		{"hidden zero", "GET /a%00b HTTP/1.1\r\n" + host + "\r\n", 400},
		{"space in a name", "GET / HTTP/1.1\r\n" + host + "X Y: 1\r\n\r\n", 400},
		{"space before the colon", "GET / HTTP/1.1\r\n" + host + "X : 1\r\n\r\n", 400},
		{"space before the colon of framing", "POST / HTTP/1.1\r\n" + host + "Content-Length : 5\r\n\r\nhello", 400},
		{"empty name", "GET / HTTP/1.1\r\n" + host + ": 1\r\n\r\n", 400},
		{"no colon", "GET / HTTP/1.1\r\n" + host + "X\r\n\r\n", 400},
		{"name outside ASCII", "GET / HTTP/1.1\r\n" + host + "X\xff: 1\r\n\r\n", 400},
		{"control character in a value", "GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", 400},
		{"bare CR in a value", "GET / HTTP/1.1\r\n" + host + "X: a\rb\r\n\r\n", 400},
		{"bare LF after a field", "GET / HTTP/1.1\r\n" + host + "X: 1\nY: 2\r\n\r\n", 400},
		{"bare LF at the end", "GET / HTTP/1.1\r\n" + host + "X: 1\r\n\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"two bare LF at the end", "GET / HTTP/1.1\r\nHost: a\n\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"folded line", "GET / HTTP/1.1\r\n" + host + "X: 1\r\n 2\r\n\r\n", 400},
		{"folded with a tab", "GET / HTTP/1.1\r\n" + host + "X: 1\r\n\t2\r\n\r\n", 400},
		{"folded framing", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400},
		{"fold before any field", "GET / HTTP/1.1\r\n X: 1\r\n" + host + "\r\n", 400},
		{"both framings", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
		{"both framings, the other way", "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"identity", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"identity and a length", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", 400},
		{"two codings", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
		{"coding twice", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"chunked twice", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400},
		{"quoted coding", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400},
		{"empty coding", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 400},
		{"chunked of 1.0", "POST / HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"length twice", "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
		{"list of lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 5, 5\r\n\r\nhello", 400},
		{"signed length", "POST / HTTP/1.1\r\n" + host + "Content-Length: +5\r\n\r\nhello", 400},
		{"negative length", "POST / HTTP/1.1\r\n" + host + "Content-Length: -5\r\n\r\nhello", 400},
		{"hexadecimal length", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0x5\r\n\r\nhello", 400},
		{"empty length", "POST / HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\nhello", 400},
		{"length beyond the bound", "POST / HTTP/1.1\r\n" + host + "Content-Length: 1048577\r\n\r\n", 413},
		{"shadow of the length", "POST / HTTP/1.1\r\n" + host + "Content_Length: 5\r\n\r\n", 400},
		{"shadow of the coding", "POST / HTTP/1.1\r\n" + host + "Transfer_Encoding: chunked\r\n\r\n", 400},
		{"shadow of a proxy's field", "GET / HTTP/1.1\r\n" + host + "X_Forwarded_For: 1.2.3.4\r\n\r\n", 400},
		{"two types", "POST / HTTP/1.1\r\n" + host + "Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 1\r\n\r\nx", 400},
		{"unknown expectation", "POST / HTTP/1.1\r\n" + host + "Expect: tea\r\nContent-Length: 5\r\n\r\nhello", 417},
		{"one expectation too many", "POST / HTTP/1.1\r\n" + host + "Expect: 100-continue, tea\r\nContent-Length: 5\r\n\r\nhello", 417},
		{"expectations in two lines", "POST / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nExpect: tea\r\nContent-Length: 5\r\n\r\nhello", 417},
		{"bad head that expects", "POST / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nX Y: 1\r\nContent-Length: 5\r\n\r\n", 400},
		{"bad head whose body does not come", "POST / HTTP/1.1\r\n" + host + "X Y: 1\r\nContent-Length: 5\r\n\r\n", 400},
		{"bad head whose chunks do not come", "POST / HTTP/1.1\r\n" + host + "X Y: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"hundreds of fields", "GET / HTTP/1.1\r\n" + host + strings.Repeat("X: 1\r\n", 300) + "\r\n", 431},
		{"head above its bound", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 9<<10) + "\r\n\r\n", 431},
		{"target above the head's bound", "GET /" + strings.Repeat("x", 9<<10) + " HTTP/1.1\r\n" + host + "\r\n", 431},
		{"two readings of a path", "GET /%2e%2e/private HTTP/1.1\r\n" + host + "\r\n", 400},
		{"no route", "GET / HTTP/1.1\r\nHost: nowhere\r\n\r\n", 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeChain{}
			s := start(t, f)
			s.Swap(privateTable(t, f))
			c := s.dial(t)
			c.send(tt.raw)
			r, body := c.answer("GET")
			if r.StatusCode != tt.status {
				t.Fatalf("status %d, want %d: %s", r.StatusCode, tt.status, body)
			}
			checkProblem(t, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"), body, tt.status)
			if tt.status != 404 && !isRouteProblem(tt.name) {
				closeWrite(t, c)
				c.closed()
				if !r.Close {
					t.Error("the connection was to be closed, and the response does not say so")
				}
			}
			if started, _, forwarded := f.counts(); started+forwarded > 0 {
				t.Errorf("%d requests came to a chain, %d to the upstream", started, forwarded)
			}
			if got := <-s.done; got.status != tt.status {
				t.Errorf("observed status %d", got.status)
			}
		})
	}
}

// isRouteProblem names the cases whose heads are well-formed: their connections go on.
func isRouteProblem(name string) bool {
	return name == "two readings of a path" || name == "percent sign alone" || name == "hidden zero"
}

func checkProblem(t *testing.T, contentType, cacheControl, body string, status int) {
	t.Helper()
	if contentType != "application/problem+json" || cacheControl != "no-store" {
		t.Errorf("Content-Type %q, Cache-Control %q", contentType, cacheControl)
	}
	var doc struct {
		Type, Title, Detail, Instance string
		Status                        int
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if doc.Status != status || doc.Type == "" || doc.Title == "" || doc.Detail == "" || doc.Instance == "" {
		t.Errorf("problem %+v", doc)
	}
}
