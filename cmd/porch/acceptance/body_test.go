package acceptance

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Bodies with a length and in chunks, both ways, with their trailers.
func TestBodiesPassWhole(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, proxies(up.address))
	large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	for _, body := range []string{"", "x", large} {
		wantStatus(t, p.client().send(request{method: "PUT", body: body}), http.StatusOK)
		if got := up.last(); got.body != body {
			t.Errorf("%d bytes arrive as %d", len(body), len(got.body))
		}
		resp, err := p.client().open(request{method: "PUT"}, io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		got := up.last()
		if got.body != body {
			t.Errorf("%d bytes in chunks arrive as %d", len(body), len(got.body))
		}
	}
}

func TestTrailersPass(t *testing.T) {
	t.Parallel()
	up := serveUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "7")
	})
	p := launch(t, proxies(up.address))
	got := p.client().send(request{})
	if got.body != "body" || got.trailer.Get("X-Sum") != "7" {
		t.Errorf("%q with trailer %v", got.body, got.trailer)
	}
}

// The client's 100 comes once the filters that need no body have let the request pass, not before.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 2, window: 1h"), idempotency("ttl: 1h")}})
	for _, key := range []string{"", "Idempotency-Key: k\r\n"} {
		w := dial(t, p.listen)
		w.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n" + key + "\r\n")
		got := w.hear("POST")
		wantStatus(t, got, http.StatusContinue)
		w.say("order")
		wantStatus(t, w.hear("POST"), http.StatusOK)
		if row := up.last(); row.body != "order" {
			t.Errorf("arrives as %q", row.body)
		}
	}
	w := dial(t, p.listen)
	w.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	wantProblem(t, w.hear("POST"), http.StatusTooManyRequests, quotaExceeded)
	up.wantRows(2)
}

// An upstream that answers while the client still uploads.
func TestEarlyAnswerOfTheUpstream(t *testing.T) {
	t.Parallel()
	up := serveScript(t, func(_ int, w *wire) {
		if _, err := w.request(); err != nil {
			return
		}
		io.CopyN(io.Discard, w.in, 64<<10)
		io.WriteString(w, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo much")
		w.closed() // read on until porch has closed: an answer is not lost to a reset
	})
	p := launch(t, proxies(up.address))
	for range 5 {
		w := dial(t, p.listen)
		w.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n")
		upload := start(1, func(int) {
			chunk := make([]byte, 64<<10)
			for range 1024 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		got := w.hear("POST")
		if got.status != http.StatusRequestEntityTooLarge || got.body != "too much" {
			t.Errorf("%d %q", got.status, got.body)
		}
		w.Close()
		upload()
	}
}

// Porch's own answer before the body was read reaches the client, 30 of 30. The client is one that gives up
// reading when it cannot write.
func TestEarlyAnswerIsNotLost(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 1, window: 1h")}})
	wantStatus(t, p.client().send(request{}), http.StatusOK)
	upload := request{body: strings.Repeat("x", 16<<20)}
	for i := range 30 {
		got, err := p.client().try(upload)
		if err != nil {
			t.Errorf("answer %d is lost: %v", i, err)
			continue
		}
		wantProblem(t, got, http.StatusTooManyRequests, quotaExceeded)
	}
	up.wantRows(1)
}

// The head of a stream reaches the client before its first event is sent, and each event before the next.
func TestEventStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	events := make(chan string)
	up := serveUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for e := range events {
			io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	})
	// A filter of each kind stands before it: neither holds up what it does not need.
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 9, window: 1h"), idempotency("ttl: 1h")}})
	resp, err := p.client().open(request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for i := range 5 {
		events <- fmt.Sprintf("data: %d\n\n", i)
		got, err := in.ReadString('\n')
		if err != nil || got != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d is %q, %v", i, got, err)
		}
		in.ReadString('\n')
	}
	close(events)
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("after the last event: %q, %v", rest, err)
	}
}

// An upstream that dies in the middle of its body ends the client's response abruptly, with nothing added.
func TestBrokenBodyEndsAbruptly(t *testing.T) {
	t.Parallel()
	for _, framing := range []struct{ name, answer string }{
		{"length", "Content-Length: 100\r\n\r\npart"},
		{"chunked", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"},
		{"chunked, malformed", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n"},
	} {
		t.Run(framing.name, func(t *testing.T) {
			t.Parallel()
			up := serveScript(t, func(n int, w *wire) {
				if _, err := w.request(); err != nil {
					return
				}
				if n == 1 {
					io.WriteString(w, "HTTP/1.1 200 OK\r\n"+framing.answer)
					return
				}
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
			})
			p := launch(t, proxies(up.address))
			w := dial(t, p.listen)
			w.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			got, err := w.tryHear("GET")
			if err == nil || !strings.HasPrefix("part", got.body) {
				t.Errorf("%d %q, %v; want at most the part and an abrupt end", got.status, got.body, err)
			}
			if got := p.client().send(request{}); got.body != "whole" {
				t.Errorf("the next response is %d %q", got.status, got.body)
			}
		})
	}
}

// A keyed request whose upstream dies in the middle of its body is not stored as if it were whole.
func TestBrokenBodyIsNotStored(t *testing.T) {
	t.Parallel()
	up := serveScript(t, func(n int, w *wire) {
		r, err := w.request()
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		if n == 1 {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
			return
		}
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
	})
	p := launch(t, config{to: up.address, filters: []filter{idempotency("ttl: 1h")}})
	wantProblem(t, p.client().send(request{key: "k", body: "order"}), http.StatusBadGateway, blank)
	for range 2 {
		if got := p.client().send(request{key: "k", body: "order"}); got.status != 200 || got.body != "whole" {
			t.Errorf("the retry is %d %q", got.status, got.body)
		}
	}
}

// A malformed chunked body is never forwarded as a complete one.
func TestBrokenUploadIsCut(t *testing.T) {
	t.Parallel()
	for _, end := range []struct{ name, bytes string }{
		{"hung up", ""},
		{"no size", "zz\r\nmore\r\n0\r\n\r\n"},
		{"chunk longer than its size", "2\r\nmore\r\n0\r\n\r\n"},
		{"bare line feeds", "4\nmore\n0\n\n"},
		{"size out of bounds", "fffffffffffffffff\r\nmore"},
		{"signed size", "+4\r\nmore\r\n0\r\n\r\n"},
		{"bad trailer", "0\r\nbad trailer\r\n\r\n"},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			p := launch(t, proxies(up.address))
			w := dial(t, p.listen)
			w.say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\norder\r\n" + end.bytes)
			if end.bytes == "" {
				w.Close()
			} else {
				got := w.hear("POST")
				wantProblem(t, got, http.StatusBadRequest, blank)
				if !w.closed() {
					t.Error("the connection outlives the malformed body")
				}
			}
			wantStatus(t, p.client().send(request{target: "/next"}), http.StatusOK)
			p.terminate()
			rows := up.rows()
			if len(rows) != 1 || rows[0].target != "/next" {
				t.Errorf("executed: %v", rows)
			}
		})
	}
}

// 1 GiB up and down in under 100 MB of memory, past filters that do not need it.
func TestLargeBodiesAreStreamed(t *testing.T) {
	const size, most = 1 << 30, 100 << 20
	var uploaded int64
	up := serveUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			uploaded, _ = io.Copy(io.Discard, r.Body)
			return
		}
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		io.Copy(w, zeros(size))
	})
	p := launch(t, config{to: up.address, filters: []filter{ratelimit("limit: 99, window: 1h"), idempotency("ttl: 1h")}})
	p.forgetPeak()
	for _, framing := range []string{"length", "chunked"} {
		body := zeros(size)
		w, c := dial(t, p.listen), p.client()
		w.SetDeadline(time.Time{})
		c.http.Timeout = 0
		if framing == "length" {
			fmt.Fprintf(w, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
			io.Copy(w, body)
		} else {
			io.WriteString(w, "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
			for range size >> 20 {
				io.WriteString(w, "100000\r\n")
				io.CopyN(w, body, 1<<20)
				io.WriteString(w, "\r\n")
			}
			io.WriteString(w, "0\r\n\r\n")
		}
		wantStatus(t, w.hear("PUT"), http.StatusOK)
		if uploaded != size {
			t.Errorf("%s: %d bytes uploaded, want %d", framing, uploaded, size)
		}
		resp, err := c.open(request{target: "/" + framing}, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n != size || err != nil {
			t.Errorf("%s: %d bytes downloaded, want %d; %v", framing, n, size, err)
		}
	}
	if peak := p.status("VmHWM"); peak >= most {
		t.Errorf("%d MB resident at the peak, want less than %d", peak>>20, most>>20)
	} else {
		t.Logf("%d MB resident at the peak", peak>>20)
	}
}

// zeros is a body of n bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
