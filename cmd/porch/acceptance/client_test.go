package acceptance

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// client sends requests over connections of its own.
type client struct {
	t    testing.TB
	http *http.Client
	to   string
}

// request is what a client sends. The zero method is GET, or POST where there is a body or a key; the zero
// target is "/". The target is sent as it stands.
type request struct {
	method, target string
	host           string
	key            string // Idempotency-Key
	header         http.Header
	body           string
}

// reply is what a client received, whole.
type reply struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
}

// client makes a client of the process.
func (p *process) client() *client {
	return newClient(p.t, p.listen)
}

func newClient(t testing.TB, address string) *client {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t, &http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, address}
}

// send sends r and reads the reply whole.
func (c *client) send(r request) reply {
	c.t.Helper()
	got, err := c.try(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", r.method, r.target, err)
	}
	return got
}

// try is send for a request that may fail, and for goroutines that may not end the test.
func (c *client) try(r request) (reply, error) {
	resp, err := c.open(r, strings.NewReader(r.body))
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, resp.Trailer, string(body)}, err
}

// open sends r with a body of the caller's and returns when the head of the response is there.
func (c *client) open(r request, body io.Reader) (*http.Response, error) {
	if r.method == "" {
		r.method = http.MethodGet
		if r.body != "" || r.key != "" {
			r.method = http.MethodPost
		}
	}
	if r.target == "" {
		r.target = "/"
	}
	if s, ok := body.(*strings.Reader); ok && s.Len() == 0 {
		body = nil
	}
	req, err := http.NewRequest(r.method, "http://"+c.to, body)
	if err != nil {
		return nil, err
	}
	req.URL = &url.URL{Scheme: "http", Host: c.to, Opaque: r.target}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	req.Host = r.host
	return c.http.Do(req)
}

// sendAll sends n requests at once and returns the replies in the order of the requests.
func (c *client) sendAll(n int, r func(i int) request) []reply {
	c.t.Helper()
	return c.startAll(n, r)()
}

// startAll is sendAll that lets the test go on meanwhile.
func (c *client) startAll(n int, r func(i int) request) (wait func() []reply) {
	replies, errs := make([]reply, n), make([]error, n)
	ended := start(n, func(i int) { replies[i], errs[i] = c.try(r(i)) })
	return func() []reply {
		c.t.Helper()
		ended()
		for i, err := range errs {
			if err != nil {
				c.t.Errorf("request %d: %v", i, err)
			}
		}
		return replies
	}
}

// always is the same request for every i.
func always(r request) func(int) request { return func(int) request { return r } }

// keyed is a request with its own key for every i.
func keyed(prefix string, r request) func(int) request {
	return func(i int) request {
		r := r
		r.key = fmt.Sprintf("%s-%d", prefix, i)
		return r
	}
}

// header makes a header from names and values in turn.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// count is how many replies have the status.
func count(replies []reply, status int) int {
	n := 0
	for _, r := range replies {
		if r.status == status {
			n++
		}
	}
	return n
}
