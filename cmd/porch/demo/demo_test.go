package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(o http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	o.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

func TestOrders(t *testing.T) {
	o := newOrders()
	for _, test := range []struct {
		name, method, target, body string
		status                     int
		want                       string
	}{
		{"no rows", "GET", "/orders", "", 200, "[]\n"},
		{"none inserted", "GET", "/orders/count", "", 200, "{\"count\":0}\n"},
		{"place", "POST", "/orders", `{"item":"tea"}`, 201, `{"id":1,"order":{"item":"tea"}}` + "\n"},
		{"place the same", "POST", "/orders", `{"item":"tea"}`, 201, `{"id":2,"order":{"item":"tea"}}` + "\n"},
		{"not JSON", "POST", "/orders", `tea`, 400, "the order must be JSON\n"},
		{"no order", "POST", "/orders", ``, 400, "the order must be JSON\n"},
		{"too large", "POST", "/orders", strings.Repeat(" ", maxOrder+1), 413, "http: request body too large\n"},
		{"no delay", "POST", "/orders?delay=soon", `{}`, 400, "delay: want a duration from 0s to 1m0s, such as 2s\n"},
		{"too long a delay", "POST", "/orders?delay=1h", `{}`, 400, "delay: want a duration from 0s to 1m0s, such as 2s\n"},
		{"a delay into the past", "POST", "/orders?delay=-1s", `{}`, 400, "delay: want a duration from 0s to 1m0s, such as 2s\n"},
		{"list", "GET", "/orders", "", 200, `[{"id":1,"order":{"item":"tea"}},{"id":2,"order":{"item":"tea"}}]` + "\n"},
		{"count", "GET", "/orders/count", "", 200, "{\"count\":2}\n"},
		{"elsewhere", "GET", "/", "", 404, "404 page not found\n"},
	} {
		got := call(o, test.method, test.target, test.body)
		if got.Code != test.status || got.Body.String() != test.want {
			t.Errorf("%s: %d %q, want %d %q", test.name, got.Code, got.Body, test.status, test.want)
		}
	}
}

func TestRowsAreBounded(t *testing.T) {
	o := newOrders()
	for range maxRows + 5 {
		call(o, "POST", "/orders", `{}`)
	}
	list := call(o, "GET", "/orders", "").Body.String()
	if !strings.HasPrefix(list, `[{"id":6,`) || strings.Count(list, `"id"`) != maxRows {
		t.Errorf("the list begins with %.20s and has %d rows", list, strings.Count(list, `"id"`))
	}
	if got := call(o, "GET", "/orders/count", "").Body.String(); got != fmt.Sprintf("{\"count\":%d}\n", maxRows+5) {
		t.Errorf("count %s", got)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrders()
		start := time.Now()
		if got := call(o, "POST", "/orders?delay=30s", `{}`); got.Code != 201 || time.Since(start) != 30*time.Second {
			t.Errorf("%d after %v", got.Code, time.Since(start))
		}
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	// Stops when Serve returns; the test waits for it.
	go func() { served <- Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	url := "http://" + l.Addr().String() + "/orders"
	if got, err := client.Get(url); err != nil || got.StatusCode != 200 {
		t.Fatalf("%v, %v", got, err)
	} else {
		io.Copy(io.Discard, got.Body)
		got.Body.Close()
	}
	waiting, reading := make(chan error, 1), make(chan struct{})
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	order, err := http.NewRequestWithContext(traced, "POST", url+"?delay=1m", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	order.Header.Set("Expect", "100-continue")
	// Stops when the order is answered; the test waits for it.
	go func() {
		got, err := client.Do(order)
		if err == nil {
			got.Body.Close()
			if got.StatusCode != http.StatusServiceUnavailable {
				err = errors.New(got.Status)
			}
		}
		waiting <- err
	}()
	<-reading
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the waiting order: %v", err)
	}
}

func TestServeSaysWhyItEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := Serve(t.Context(), l); err == nil {
		t.Error("a closed listener was served")
	}
}

func TestCommands(t *testing.T) {
	text := Commands("127.0.0.1:8080")
	var commands []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "curl ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	want := []string{
		`for n in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/orders; done`,
		`for n in 1 2; do curl -si -H 'Idempotency-Key: order-1' -d '{"item":"tea"}' http://127.0.0.1:8080/orders; done`,
		`curl -si -H 'Idempotency-Key: order-1' -d '{"item":"coffee"}' http://127.0.0.1:8080/orders`,
	}
	if strings.Join(commands, "\n") != strings.Join(want, "\n") {
		t.Errorf("commands:\n%s", strings.Join(commands, "\n"))
	}
}
