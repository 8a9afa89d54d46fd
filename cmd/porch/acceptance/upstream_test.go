package acceptance

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// upstream is the service behind porch: it keeps a row for each request that it executed, and can hold
// requests until the test lets them go.
type upstream struct {
	t        testing.TB
	address  string
	handle   http.HandlerFunc
	received atomic.Int64 // bytes of all connections

	mu struct {
		sync.Mutex
		rows    []row
		holding bool
		opened  chan struct{} // closed by open; what is held then ends by itself
		held    int
	}
	visits chan *visit
}

// row is one execution.
type row struct {
	method, target, host string
	header               http.Header
	transferEncoding     []string
	trailer              http.Header
	body                 string
	number               int // from 1
}

// visit is a request that the upstream holds.
type visit struct {
	row
	answers chan answer
}

// answer is what the upstream sends; the zero status is 200 and a body of the row's own.
type answer struct {
	status int
	header http.Header
	body   string
}

// newUpstream starts one whose answers are the row's own, "row N".
func newUpstream(t testing.TB) *upstream {
	t.Helper()
	return serveUpstream(t, nil)
}

// serveUpstream starts one with an own handler; nil keeps rows.
func serveUpstream(t testing.TB, handle http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{t: t, visits: make(chan *visit, 1<<14)}
	u.mu.opened = make(chan struct{})
	if u.handle = handle; handle == nil {
		u.handle = u.execute
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u.address = listener.Addr().String()
	server := &http.Server{Handler: u.handle}
	served := make(chan struct{})
	// Stops when the server is closed at the end of the test.
	go func() {
		defer close(served)
		server.Serve(countingListener{listener, &u.received})
	}()
	t.Cleanup(func() {
		u.open()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-served
	})
	return u
}

// execute inserts the row and answers, at once or when the test says so.
func (u *upstream) execute(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut short: not executed
	}
	row := row{
		method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header.Clone(),
		transferEncoding: r.TransferEncoding, trailer: r.Trailer, body: string(body),
	}
	u.mu.Lock()
	row.number = len(u.mu.rows) + 1
	u.mu.rows = append(u.mu.rows, row)
	holding, opened := u.mu.holding, u.mu.opened
	if holding {
		u.mu.held++
	}
	u.mu.Unlock()
	var a answer
	if holding {
		v := &visit{row: row, answers: make(chan answer, 1)}
		u.visits <- v
		select {
		case a = <-v.answers:
		case <-opened:
			select { // an answer that came first counts
			case a = <-v.answers:
			default:
			}
		case <-r.Context().Done():
		}
		u.mu.Lock()
		u.mu.held--
		u.mu.Unlock()
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == 0 {
		a = answer{status: http.StatusOK, body: fmt.Sprintf("row %d\n", row.number)}
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// hold keeps every request from now on until the test answers it or opens.
func (u *upstream) hold() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.holding = true
	u.mu.opened = make(chan struct{})
}

// open lets go what is held and holds no more.
func (u *upstream) open() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.holding {
		u.mu.holding = false
		close(u.mu.opened)
	}
}

// held is how many requests are held now.
func (u *upstream) held() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.held
}

// arrival is the next request that is held.
func (u *upstream) arrival() *visit {
	u.t.Helper()
	bound := time.NewTimer(patience)
	defer bound.Stop()
	select {
	case v := <-u.visits:
		return v
	case <-bound.C:
		u.t.Fatal("no request arrives at the upstream")
		return nil
	}
}

// rows are the executions so far.
func (u *upstream) rows() []row {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]row(nil), u.mu.rows...)
}

// wantRows asserts the number of executions.
func (u *upstream) wantRows(want int) {
	u.t.Helper()
	if got := len(u.rows()); got != want {
		u.t.Errorf("the upstream executed %d requests, want %d", got, want)
	}
}

// last is the newest execution.
func (u *upstream) last() row {
	u.t.Helper()
	rows := u.rows()
	if len(rows) == 0 {
		u.t.Fatal("the upstream executed nothing")
	}
	return rows[len(rows)-1]
}

// countingListener adds what its connections receive to a counter.
type countingListener struct {
	net.Listener
	received *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, l.received}, nil
}

type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}
