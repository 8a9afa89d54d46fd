package upstream

import (
	"fmt"
	"net"
	"testing"
)

// Bytes that an upstream sends on an idle connection would be the next request's response.
func TestAPoisonedConnectionServesNoRequest(t *testing.T) {
	poison, poisoned := make(chan struct{}), make(chan struct{})
	u := dial(t, listen(t, func(p *peer, n int) {
		p.request()
		p.say(hello)
		if n > 0 {
			p.gone()
			return
		}
		<-poison
		p.say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
		close(poisoned)
		if p.request() != "" {
			t.Error("a request was written to the poisoned connection")
		}
	}))
	forward(t, u, get())
	close(poison)
	<-poisoned
	if body := forward(t, u, get()); body != "hello" {
		t.Errorf("got the answer meant for nobody: %q", body)
	}
	if s := u.Stats(); s.Dials != 2 || s.Open != 1 || s.Stale != 1 {
		t.Errorf("connections %+v", s)
	}
}

// An upstream that closes idle connections costs no request: all stale ones go before one is written to.
func TestStaleConnectionsAreReplaced(t *testing.T) {
	const idle = 5
	var closed [idle]chan struct{}
	arrived, answer, hangUp := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for i := range closed {
		closed[i] = make(chan struct{})
	}
	u := dial(t, listen(t, func(p *peer, n int) {
		p.request()
		if n >= idle {
			p.say(hello)
			p.gone()
			return
		}
		arrived <- struct{}{}
		<-answer
		p.say(hello)
		<-hangUp
		p.Close()
		close(closed[n])
	}))
	done := make(chan error)
	for range idle {
		// Stops when it has its response; the test receives one message of each.
		go func() { done <- u.Forward(get()) }()
	}
	for range idle {
		<-arrived
	}
	close(answer)
	for range idle {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	close(hangUp)
	for _, c := range closed {
		<-c
	}
	if body := forward(t, u, post("once")); body != "hello" {
		t.Errorf("body %q", body)
	}
	if s := u.Stats(); s.Stale != idle || s.Dials != idle+1 || s.Open != 1 {
		t.Errorf("connections %+v, want %d stale", s, idle)
	}
}

// A request that was sent is never sent again, whatever its method: the upstream may have acted on it.
func TestASentRequestIsNotRepeated(t *testing.T) {
	requests := make(chan string, 8)
	u := dial(t, listen(t, func(p *peer, n int) {
		requests <- p.request()
		if n == 0 {
			p.say(hello)
			requests <- p.request() // and hangs up
		}
	}))
	forward(t, u, get())
	refuse(t, u, get(), Unreachable, true)
	if len(requests) != 2 {
		t.Errorf("%d requests arrived, want 2", len(requests))
	}
}

// A connection that talks before it is spoken to is not retried for ever.
func TestAnUpstreamThatTalksFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u := dial(t, "http://"+l.Addr().String())
	x := get()
	tgt := u.targets[0]
	entry, err := tgt.pool.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	fmt.Fprint(far, "220 ready\r\n")
	c := entry.Conn().(*conn)
	for c.peek() == quiet { // until the bytes have crossed
	}
	tgt.pool.ReleaseConn(entry)
	refuse(t, u, x, Nonsense, false)
	if s := u.Stats(); s.Open != 0 || s.Stale != 1 {
		t.Errorf("connections %+v", s)
	}
}

func TestPeekAllocatesNothing(t *testing.T) {
	u := dial(t, listen(t, func(p *peer, _ int) { p.gone() }))
	c, err := u.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer c.discard()
	if n := testing.AllocsPerRun(100, func() {
		if c.peek() != quiet {
			t.Error("not quiet")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
