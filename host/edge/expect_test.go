package edge

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/exchange"
)

const (
	expecting   = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	interim     = "HTTP/1.1 100 Continue\r\n\r\n"
	upperExpect = "POST / HTTP/1.1\r\nHost: a\r\nEXPECT: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// TestExpect shows when a client that waits for 100 Continue is told to send its body: after the filters
// that need no body, and not where the answer is known without it.
func TestExpect(t *testing.T) {
	refuse := func(x *exchange.Exchange) chain.Step {
		respond(x, 429, "no")
		x.Response.Source = exchange.FromFilter
		return chain.StepDecided
	}
	tests := []struct {
		name, head, body string
		advance          func(*exchange.Exchange) chain.Step
		bodyCap          int64
		goesOn           bool
		status           int
	}{
		{"streamed", expecting, "hello", nil, 0, true, 200},
		{"streamed in chunks, other spelling", upperExpect, "5\r\nhello\r\n0\r\n\r\n", nil, 0, true, 200},
		{"held", expecting, "hello", needBody, 5, true, 200},
		{"refused by a filter", expecting, "", refuse, 0, false, 429},
		{"above the cap", expecting, "", needBody, 4, false, 413},
		{"chunks above the cap", upperExpect, "5\r\nhello\r\n0\r\n\r\n", needBody, 4, true, 413},
		{"no route", strings.Replace(expecting, "Host: a", "Host: b", 1), "", nil, 0, false, 404},
		{"above the bound", strings.Replace(expecting, "Length: 5", "Length: 5000000", 1), "", nil, 0, false, 413},
		{"without a body", strings.Replace(expecting, "Length: 5", "Length: 0", 1), "", nil, 0, false, 200},
		{"1.0", strings.Replace(expecting, "1.1", "1.0", 1), "hello", nil, 0, false, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeChain{advance: tt.advance, bodyCap: tt.bodyCap}
			s := start(t, f)
			s.Swap(privateTable(t, f))
			c := s.dial(t)
			c.send(tt.head)
			if tt.goesOn {
				got := make([]byte, len(interim))
				if _, err := io.ReadFull(c.r, got); err != nil || string(got) != interim {
					t.Fatalf("%q, %v; want to be told to go on", got, err)
				}
			}
			c.send(tt.body)
			r, body := c.answer("POST")
			if r.StatusCode != tt.status {
				t.Fatalf("status %d, want %d: %s", r.StatusCode, tt.status, body)
			}
			if tt.status == 200 && tt.body != "" && f.last().body != "hello" {
				t.Errorf("body %q", f.last().body)
			}
			for _, field := range f.last().header {
				if strings.HasPrefix(strings.ToLower(field), "expect") {
					t.Errorf("forwarded %q", field)
				}
			}
			if tt.status != 200 && !tt.goesOn {
				if !r.Close {
					t.Error("the connection stays, though the client may send its body yet")
				}
				closeWrite(t, c)
				c.closed()
			}
			<-s.done
			if started, ended, _ := f.counts(); started != ended {
				t.Errorf("%d started, %d ended", started, ended)
			}
		})
	}
}

// TestExpectAndLeave has a client leave after it was told to go on: its exchange ends, and nothing is
// forwarded.
func TestExpectAndLeave(t *testing.T) {
	f := &fakeChain{advance: needBody, bodyCap: 5}
	s := start(t, f)
	c := s.dial(t)
	c.send(expecting)
	if _, err := io.ReadFull(c.r, make([]byte, len(interim))); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-s.done
	if started, ended, forwarded := f.counts(); started != 1 || ended != 1 || forwarded != 0 {
		t.Errorf("%d started, %d ended, %d forwarded", started, ended, forwarded)
	}
}

// TestExpectAndFail has the store die and the chain panic before the body was asked for.
func TestExpectAndFail(t *testing.T) {
	answer := func(x *exchange.Exchange) chain.Step {
		respond(x, 429, "no")
		return chain.StepDecided
	}
	t.Run("no response may leave", func(t *testing.T) {
		f := &failing{fakeChain: fakeChain{advance: answer}}
		c := start(t, f).dial(t)
		c.send(expecting)
		if raw, _ := io.ReadAll(c.r); len(raw) > 0 {
			t.Errorf("%q", raw)
		}
	})
	t.Run("panic", func(t *testing.T) {
		f := &fakeChain{advance: func(*exchange.Exchange) chain.Step { panic("filter") }}
		c := start(t, f).dial(t)
		c.send(expecting)
		if r, _ := c.answer("POST"); r.StatusCode != 500 {
			t.Errorf("status %d", r.StatusCode)
		}
		if started, ended, _ := f.counts(); started != 1 || ended != 1 {
			t.Errorf("%d started, %d ended", started, ended)
		}
	})
}

// failing has no response leave.
type failing struct{ fakeChain }

func (*failing) Finish(*exchange.Exchange) error { return errors.New("the store is dead") }
