package wasmtests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const digestBody = "digest 32"

// post is a POST with a body, of which filter p takes the digest.
func post(body string, header ...string) request {
	r := asking("p", digestBody, "log 1 called")
	r.method, r.body = http.MethodPost, body
	r.header = append(r.header, header...)
	return r
}

func held(got []string) bool { return strings.HasPrefix(got[0], "0:") }

var _ = clause("NEED-1", func(t *testing.T) {
	s := open(t, probing("p", "need 1 - 10"))
	a := s.send(post("0123456789"))
	if !held(s.results(a, "p")) {
		t.Error("the body is not held")
	}
	_, body := s.up.last()
	want(t, []string{body}, "0123456789")
})

var _ = clause("NEED-2", func(t *testing.T) {
	s := open(t, probing("p", "need 1 Idempotency-Key 10"))
	cases := []struct {
		method, key string
		held        bool
	}{
		{"POST", "k", true}, {"PATCH", "k", true}, {"PUT", "k", true}, {"DELETE", "k", true},
		{"POST", "", false}, {"GET", "k", false}, {"HEAD", "k", false}, {"OPTIONS", "k", false},
	}
	for _, c := range cases {
		r := post("body")
		r.method = c.method
		if c.key != "" {
			r.header = append(r.header, "idempotency-key", c.key)
		}
		if got := held(s.results(s.send(r), "p")); got != c.held {
			t.Errorf("%s with key %q: held is %v", c.method, c.key, got)
		}
	}
	all := open(t, probing("p", "need 1 - 10"))
	for _, method := range []string{"POST", "GET", "OPTIONS"} {
		r := post("body")
		r.method = method
		if !held(all.results(all.send(r), "p")) {
			t.Errorf("%s without a header in the need: not held", method)
		}
	}
})

var _ = clause("NEED-3", func(t *testing.T) {
	s := open(t, probing("p", "need 1 - 10"))
	s.wantStatus(s.send(post("0123456789a")), http.StatusRequestEntityTooLarge)
	s.up.wantCount(t, 0)
	if strings.Contains(s.log.String(), "text=called") {
		t.Error("the filter was called")
	}
	streamed := open(t, probing("p", "need 1 X-Key 10"))
	streamed.wantStatus(streamed.send(post("0123456789a")), 200)
	streamed.wantStatus(streamed.send(post("0123456789a", "X-Key", "k")), http.StatusRequestEntityTooLarge)
})

var _ = clause("NEED-4", func(t *testing.T) {
	s := open(t, probing("p", "need 1 - 100"))
	script := "log 1 called"
	for name, message := range map[string]string{
		"cut short":         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nProbe-Request-p: " + script + "\r\n\r\n012",
		"cut in a chunk":    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nProbe-Request-p: " + script + "\r\n\r\n5\r\n01",
		"without last":      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nProbe-Request-p: " + script + "\r\n\r\n2\r\n01\r\n",
		"wrong chunk size":  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nProbe-Request-p: " + script + "\r\n\r\nxyz\r\n01\r\n0\r\n\r\n",
		"wrong end of size": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nProbe-Request-p: " + script + "\r\n\r\n2\r\n01xx0\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, message)
		conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if strings.HasPrefix(string(answer), "HTTP/1.1 2") {
			t.Errorf("%s: answered %.40q", name, answer)
		}
	}
	s.up.wantCount(t, 0)
	if strings.Contains(s.log.String(), "text=called") {
		t.Error("the filter was called")
	}
})

var _ = clause("NEED-5", func(t *testing.T) {
	s := open(t, probing("p", "need 1 X-Key 100"))
	first := make(chan string, 1)
	s.up.does(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 5)
		_, err := io.ReadFull(r.Body, b)
		first <- fmt.Sprint(string(b), err)
		rest, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d", len(rest))
	})
	body, in := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, "http://"+s.server.Addr(), body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Unread", "1")
	answered := make(chan string, 1)
	// stops when the answer is there
	go func() {
		resp, err := client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answered <- string(text)
	}()
	fmt.Fprint(in, "hello")
	want(t, []string{<-first}, "hello<nil>")
	fmt.Fprint(in, "world")
	in.Close()
	want(t, []string{<-answered}, "5")
})

var _ = clause("NEED-6", func(t *testing.T) {
	var many []string
	for range 17 {
		many = append(many, "need 1 - 1")
	}
	s := open(t, probing("p", append([]string{"need 0 - 1", "need 2 - 1", "need 3 - 1", "need 1 a%20b 1", "need 1 @257 1", "need 1 - -1", "need 1 @256 0"}, many...)...))
	got := s.configured()
	want(t, got[:7], invalid, invalid, invalid, invalid, invalid, invalid, done)
	want(t, got[7+14:], done, invalid, invalid)
})

var _ = clause("DIGEST-4", func(t *testing.T) {
	s := open(t, probing("p"))
	wantIn(t, s.results(s.send(post("body")), "p")[0], unavailable+":")
	if !held(s.results(s.send(post("")), "p")) || !held(s.run(digestBody)) {
		t.Error("a request without a body is not held")
	}
	conn, err := net.Dial("tcp", s.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nProbe-Request-p: %s\r\nConnection: close\r\n\r\n", digestBody)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	wantIn(t, resp.Header.Get("Probe-Result-p"), "0:")
})
