package wasmtests

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
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

// journal is a log that tests read and wait for.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and made anew with each line
}

func newJournal() *journal { return &journal{more: make(chan struct{})} }

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.more)
	j.more = make(chan struct{})
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// line waits for a line that holds all parts, and returns it.
func (j *journal) line(t *testing.T, parts ...string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		j.mu.Lock()
		text, more := j.text.String(), j.more
		j.mu.Unlock()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
				return line
			}
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("never logged: %q\n%s", parts, text)
		}
	}
}

// Conditions as scripts report them.
var (
	absent      = fmt.Sprint(int(abi.Absent))
	invalid     = fmt.Sprint(int(abi.Invalid))
	tooLarge    = fmt.Sprint(int(abi.TooLarge))
	wrongPhase  = fmt.Sprint(int(abi.WrongPhase))
	saturated   = fmt.Sprint(int(abi.Saturated))
	unavailable = fmt.Sprint(int(abi.Unavailable))
	denied      = fmt.Sprint(int(abi.Denied))
)

const done = "0"

// probing is the probe as a filter, with a script for porch_configure.
func probing(name string, configure ...string) kit.Filter {
	return kit.Filter{Name: name, Module: probe, Timeout: patience, Instances: 2, Config: fmt.Sprintf(`{"probe":%q}`, join(configure))}
}

func join(commands []string) string { return strings.Join(commands, ";") }

// word writes a text as one word of a script.
func word(text string) string {
	if text == "" {
		return "-"
	}
	if strings.HasPrefix(text, "@") {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c > ' ' && c < 0x7f && !strings.ContainsRune(`%;,"\-|<>&@`, rune(c)) {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02x", c)
		}
	}
	return out.String()
}

// Commands of scripts.

func get(f abi.Field, name string) string { return fmt.Sprintf("get %d %s 65536", f, word(name)) }

func getInto(f abi.Field, name string, size int) string {
	return fmt.Sprintf("get %d %s %d", f, word(name), size)
}
func list(f abi.Field, name string) string { return fmt.Sprintf("list %d %s 65536", f, word(name)) }

func set(f abi.Field, name, value string) string {
	return fmt.Sprintf("set %d %s %s", f, word(name), word(value))
}

func add(f abi.Field, name, value string) string {
	return fmt.Sprintf("add %d %s %s", f, word(name), word(value))
}
func remove(f abi.Field, name string) string { return fmt.Sprintf("remove %d %s", f, word(name)) }
func respond(status int) string              { return fmt.Sprintf("respond %d", status) }

func policy(kind abi.Kind, name, spec string) string {
	return fmt.Sprintf("policy %d %s %s", kind, word(name), word(spec))
}

func charge(policy int, key string, cost, limit int64) string {
	return fmt.Sprintf("%d|%s|%d|%d", policy, word(key), cost, limit)
}
func count(charges ...string) string { return "count " + strings.Join(charges, " ") }

func begin(policy int, key, digest string) string {
	return fmt.Sprintf("begin %d %s %s", policy, word(key), digest)
}

// asking is a request that has filter name run a script.
func asking(name string, commands ...string) request {
	return request{header: []string{"Probe-Request-" + name, join(commands)}}
}

// inResponse adds a script for the way back.
func (r request) inResponse(name string, commands ...string) request {
	r.header = append(slices.Clone(r.header), "Probe-Response-"+name, join(commands))
	return r
}

// with adds to a request.
func (r request) with(change func(r *request)) request {
	r.header = slices.Clone(r.header)
	change(&r)
	return r
}

// results are what a script reported in the request phase, with what functions wrote as it was.
func (s *site) results(a answer, name string) []string {
	s.t.Helper()
	return s.decoded(a, "Probe-Result-"+name)
}

// backResults are those of the response phase.
func (s *site) backResults(a answer, name string) []string {
	s.t.Helper()
	return s.decoded(a, "Probe-Back-"+name)
}

func (s *site) decoded(a answer, header string) []string {
	s.t.Helper()
	text := a.header.Get(header)
	if text == "" {
		s.t.Fatalf("no %s in the answer: %d %v %s\n%s", header, a.status, a.header, a.body, s.log)
	}
	return unescaped(s.t, text)
}

func unescaped(t *testing.T, text string) []string {
	t.Helper()
	var results []string
	for r := range strings.SplitSeq(text, ",") {
		plain, err := url.PathUnescape(r)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, plain)
	}
	return results
}

// run sends GET / with a script for filter p and returns its results.
func (s *site) run(commands ...string) []string {
	s.t.Helper()
	return s.results(s.send(asking("p", commands...)), "p")
}

// runBack does so for the way back.
func (s *site) runBack(commands ...string) []string {
	s.t.Helper()
	return s.backResults(s.send(request{}.inResponse("p", commands...)), "p")
}

// configured are the results of porch_configure.
func (s *site) configured() []string {
	s.t.Helper()
	_, text, _ := strings.Cut(s.run("configured")[0], ":")
	return unescaped(s.t, text)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
