package upstream

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/porchedge/porch/host/config"
)

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]config.Upstream{
		"no targets":     {Timeout: time.Second},
		"no timeout":     {Targets: []string{"http://127.0.0.1:1"}},
		"another scheme": {Targets: []string{"ftp://127.0.0.1:1"}, Timeout: time.Second},
		"no host":        {Targets: []string{"http://"}, Timeout: time.Second},
		"no URL":         {Targets: []string{"127.0.0.1:1"}, Timeout: time.Second},
	} {
		if _, err := New(cfg, Options{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	u := dial(t, closedPort(t))
	refuse(t, u, get(), Unreachable, false)
	if s := u.Stats(); s.Open != 0 || s.Dials != 1 || s.DialsFailed != 1 {
		t.Errorf("connections %+v", s)
	}
}

// Nothing was sent to a target that refuses the connection, so another may have the request.
func TestTheNextTargetTakesOver(t *testing.T) {
	u := dial(t, closedPort(t), listen(t, always(hello)), closedPort(t))
	for range 6 {
		forward(t, u, post("x"))
	}
}

func TestTargetsTakeTurns(t *testing.T) {
	name := func(text string) string { return strings.ReplaceAll(hello, "hello", text) }
	u := dial(t, listen(t, always(name("first"))), listen(t, always(name("other"))))
	served := map[string]int{}
	for range 6 {
		served[forward(t, u, get())]++
	}
	if served["first"] != 3 || served["other"] != 3 {
		t.Errorf("served %v", served)
	}
}

// At most MaxConns are open, at most MaxWaiting wait for them, and the rest is told at once.
func TestConnectionsAreBounded(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	u := dialWith(t, patient, Options{MaxConns: 2, MaxWaiting: 1, WaitTimeout: patient}, listen(t, func(p *peer, _ int) {
		for p.request() != "" {
			arrived <- struct{}{}
			<-answer
			p.say(hello)
		}
	}))
	var running sync.WaitGroup
	start := func() {
		running.Go(func() {
			if err := u.Forward(get()); err != nil {
				t.Error(err)
			}
		})
	}
	start()
	start()
	<-arrived
	<-arrived
	start()
	for u.Stats().InUse < 3 { // until the third one waits
		time.Sleep(time.Millisecond)
	}
	refuse(t, u, get(), Busy, false)
	if s := u.Stats(); s.Open != 2 {
		t.Errorf("connections %+v", s)
	}
	answer <- struct{}{}
	<-arrived
	close(answer)
	running.Wait()
	if s := u.Stats(); s.Idle != 2 || s.Dials != 2 {
		t.Errorf("connections %+v", s)
	}
}

func TestWaitingForAConnectionIsBounded(t *testing.T) {
	release := make(chan struct{})
	u := dialWith(t, patient, Options{MaxConns: 1, WaitTimeout: impatient}, listen(t, func(p *peer, _ int) {
		p.request()
		p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
		<-release
	}))
	defer close(release)
	x := get()
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	refuse(t, u, get(), Busy, false)
	x.Response.Close()
}

func TestClose(t *testing.T) {
	gone, rest := make(chan bool, 2), make(chan struct{})
	u := dial(t, listen(t, func(p *peer, n int) {
		p.request()
		if n == 0 {
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			<-rest
			p.say("hello")
		} else {
			p.say(hello)
		}
		gone <- p.gone()
	}))
	idle, streaming := get(), get()
	if err := u.Forward(streaming); err != nil {
		t.Fatal(err)
	}
	forward(t, u, idle)
	for range 2 {
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !<-gone {
		t.Error("the idle connection is still open")
	}
	close(rest)
	if body, err := bodyOf(streaming); body != "hello" || err != nil {
		t.Errorf("a response in progress ended with %q, %v", body, err)
	}
	if !<-gone {
		t.Error("the connection in use did not end with its response")
	}
	refuse(t, u, get(), Unreachable, false)
	if s := u.Stats(); s.Open != 0 {
		t.Errorf("connections %+v", s)
	}
}

// Many clients at once: each gets its own answer, and no connection is lost.
func TestHammer(t *testing.T) {
	u := dialWith(t, patient, Options{MaxConns: 8, MaxWaiting: 64, WaitTimeout: patient}, listen(t, func(p *peer, n int) {
		for i := 0; ; i++ {
			request := p.request()
			if request == "" {
				return
			}
			_, body, _ := strings.Cut(request, "\r\n\r\n")
			p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + string(chunkText(body)))
			if i%7 == 6 {
				return // in the middle of the body
			}
			p.say("0\r\n\r\n")
			if i%5 == 4 {
				p.say("unasked")
			}
		}
	}))
	var clients sync.WaitGroup
	for c := range 16 {
		clients.Go(func() {
			for i := range 50 {
				want := strings.Repeat(string(rune('a'+c)), 1+i*100)
				x := post(want)
				if i%2 == 1 {
					x = put(strings.NewReader(want), -1)
				}
				if u.Forward(x) != nil {
					continue // the connection had been closed or poisoned in between
				}
				if i%3 == 0 {
					x.Response.Close()
					continue
				}
				if got, err := bodyOf(x); err == nil && got != want {
					t.Errorf("got another's answer: %.20q, want %.20q", got, want)
				} else if err != nil && !strings.HasPrefix(want, got) {
					t.Errorf("got another's answer: %.20q", got)
				}
			}
		})
	}
	clients.Wait()
	if s := u.Stats(); s.InUse != 0 || s.Open != s.Idle || s.Open > 8 {
		t.Errorf("connections %+v", s)
	}
}

// An upload and a download larger than all buffers, in constant memory.
func TestLargeBodiesStream(t *testing.T) {
	const size = 64 << 20
	u := dial(t, listen(t, func(p *peer, _ int) {
		p.head()
		io.CopyN(io.Discard, p.in, size)
		p.say("HTTP/1.1 200 OK\r\n\r\n")
		io.CopyN(p, endless{}, size)
	}))
	x := put(endless{}, size)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	defer x.Response.Close()
	if n, err := io.Copy(io.Discard, x.Response.Body.Stream); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
