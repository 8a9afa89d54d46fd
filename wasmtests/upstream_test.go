package wasmtests

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// upstream is the service behind the server. It answers 200 with "up" until a test says otherwise.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	handle   http.HandlerFunc
	requests []*http.Request
	bodies   []string
	arrived  chan struct{} // one for each request, if somebody waits
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{arrived: make(chan struct{}, 1024)}
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(u.serve))
	u.Config.SetKeepAlivesEnabled(false)
	u.Start()
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	handle := u.handle
	u.mu.Unlock()
	if handle != nil && r.Header.Get("X-Unread") != "" {
		handle(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	u.mu.Lock()
	u.requests = append(u.requests, r)
	u.bodies = append(u.bodies, string(body))
	u.mu.Unlock()
	u.arrived <- struct{}{}
	if handle != nil {
		handle(w, r)
		return
	}
	io.WriteString(w, "up")
}

// does sets how the upstream answers.
func (u *upstream) does(h http.HandlerFunc) {
	u.mu.Lock()
	u.handle = h
	u.mu.Unlock()
}

// held makes requests wait at the upstream until the function that it returns is called.
func (u *upstream) held(then http.HandlerFunc) (release func()) {
	gate := make(chan struct{})
	u.does(func(w http.ResponseWriter, r *http.Request) {
		<-gate
		then(w, r)
	})
	return sync.OnceFunc(func() { close(gate) })
}

// forget drops what has arrived so far, so that awaitOne waits for a later request.
func (u *upstream) forget() {
	for len(u.arrived) > 0 {
		<-u.arrived
	}
}

// awaitOne waits for a request to arrive.
func (u *upstream) awaitOne(t *testing.T) {
	t.Helper()
	select {
	case <-u.arrived:
	case <-time.After(patience):
		t.Fatal("no request arrived at the upstream")
	}
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.requests)
}

func (u *upstream) last() (*http.Request, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[len(u.requests)-1], u.bodies[len(u.bodies)-1]
}

func (u *upstream) wantCount(t *testing.T, want int) {
	t.Helper()
	if got := u.count(); got != want {
		t.Errorf("%d requests at the upstream, want %d", got, want)
	}
}
