package wasmtests

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/wasmtests/kit"
)

// patience bounds what a test waits for; it is reached only when something is broken.
const patience = 20 * time.Second

// site is a server under test, with its upstream and its log.
type site struct {
	t      *testing.T
	setup  kit.Setup
	server kit.Server
	up     *upstream
	log    *journal
}

// open starts a server with one chain of filters.
func open(t *testing.T, filters ...kit.Filter) *site {
	t.Helper()
	return openWith(t, kit.Setup{Filters: filters})
}

func openWith(t *testing.T, setup kit.Setup) *site {
	t.Helper()
	s, err := tryOpen(t, setup)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(t *testing.T, setup kit.Setup) (*site, error) {
	t.Helper()
	s := &site{t: t, up: newUpstream(t), log: newJournal()}
	setup.Upstream = s.up.Listener.Addr().String()
	if setup.Log == nil {
		setup.Log = s.log
	}
	if setup.Data == "" {
		setup.Data = filepath.Join(t.TempDir(), "data")
	}
	s.setup = setup
	var err error
	if s.server, err = underTest.Open(t, setup); err != nil {
		return nil, err
	}
	t.Cleanup(s.close)
	return s, nil
}

// close ends the server. A test may do so before its end.
func (s *site) close() {
	if s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.t.Error(err)
	}
	s.server = nil
}

// crashed is the state that a kill of the process would leave at this moment, opened by a new server.
func (s *site) crashed(filters ...kit.Filter) *site {
	s.t.Helper()
	image := filepath.Join(s.t.TempDir(), "data")
	if err := os.CopyFS(image, os.DirFS(s.setup.Data)); err != nil {
		s.t.Fatal(err)
	}
	return openWith(s.t, kit.Setup{Data: image, Filters: filters})
}

// refusal is the error of a server that must not start.
func refusal(t *testing.T, f kit.Filter) string {
	t.Helper()
	s, err := tryOpen(t, kit.Setup{Filters: []kit.Filter{f}})
	if err == nil {
		s.close()
		t.Fatalf("filter %s was not refused", f.Name)
	}
	return err.Error()
}

// wantIn asks for texts in an error or a log.
func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// request is one request; the zero value is GET /.
type request struct {
	method, target, body string
	header               []string // names and values in turn
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       patience,
}

func (s *site) send(r request) answer {
	s.t.Helper()
	a, err := s.trySend(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *site) trySend(r request) (answer, error) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.target == "" {
		r.target = "/"
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	path, query, hasQuery := strings.Cut(r.target, "?")
	req, err := http.NewRequest(r.method, "http://"+s.server.Addr(), body)
	if err != nil {
		return answer{}, err
	}
	req.URL.Opaque = path // sent as it is
	req.URL.RawQuery, req.URL.ForceQuery = query, hasQuery && query == ""
	for i := 0; i < len(r.header); i += 2 {
		if r.header[i] == "Host" {
			req.Host = r.header[i+1]
			continue
		}
		req.Header.Add(r.header[i], r.header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// await sends r again and again until its answer is as it should become.
func (s *site) await(r request, as func(a answer) bool) answer {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if a := s.send(r); as(a) {
			return a
		}
	}
	s.t.Fatal("it never came so far")
	return answer{}
}

// sending sends r at once on a goroutine of its own, and gives the answer later.
func (s *site) sending(r request) <-chan answer {
	got := make(chan answer, 1)
	// stops when the answer is there, which the client's timeout bounds
	go func() {
		a, err := s.trySend(r)
		if err != nil {
			s.t.Error(err)
		}
		got <- a
	}()
	return got
}

func (s *site) wantStatus(a answer, want int) {
	s.t.Helper()
	if a.status != want {
		s.t.Fatalf("status %d, want %d: %v %s", a.status, want, a.header, a.body)
	}
}

// wantRefused asks for the host's own 503.
func (s *site) wantRefused(a answer) {
	s.t.Helper()
	s.wantStatus(a, http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" {
		s.t.Errorf("503 without Retry-After: %v", a.header)
	}
}
