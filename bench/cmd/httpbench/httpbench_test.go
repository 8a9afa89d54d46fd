package main

import (
	"strings"
	"testing"
	"time"
)

func TestParseWrk(t *testing.T) {
	const good = `Running 2s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20ms  300.00us   9.00ms   90.00%
    Req/Sec    50.00k     1.00k   60.00k    70.00%
  100400 requests in 2.01s, 20.00MB read
Requests/sec:  49950.25
Transfer/sec:      9.95MB
`
	for _, test := range []struct {
		name, text, wrong string
	}{
		{"all answered", good, ""},
		{"refusals", strings.Replace(good, "Requests/sec", "  Non-2xx or 3xx responses: 7\nRequests/sec", 1), "Non-2xx or 3xx responses: 7"},
		{"broken connections", strings.Replace(good, "Requests/sec", "  Socket errors: connect 0, read 1, write 0, timeout 0\nRequests/sec", 1), "Socket errors"},
		{"no requests", strings.Replace(good, "100400", "0", 1), "no requests"},
		{"something else", "unable to connect", "unknown output"},
	} {
		got, err := parseWrk(test.text)
		switch {
		case test.wrong == "" && (err != nil || got != driven{49950.25, 100400}):
			t.Errorf("%s: %+v, %v", test.name, got, err)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.wrong)
		}
	}
}

func TestParseStat(t *testing.T) {
	pid, s, err := parseStat("42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 100 0 0")
	if err != nil || pid != 42 || s != (stat{7, 2 * time.Second}) {
		t.Errorf("%d, %+v, %v", pid, s, err)
	}
	for _, text := range []string{"", "42 name S 7", "42 (name) S 7", "x (name) S 7 0 0 0 0 0 0 0 0 0 1 1"} {
		if _, _, err := parseStat(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestTable(t *testing.T) {
	of := func(name string, results ...result) *subject { return &subject{name: name, results: results} }
	var out strings.Builder
	err := printTable(&out, []*subject{
		of(namePlain, result{100, 10 * time.Microsecond}, result{50, 20 * time.Microsecond}, result{100, 10 * time.Microsecond}),
		of(nameNone, result{80, 11 * time.Microsecond}, result{40, 22 * time.Microsecond}, result{90, 15 * time.Microsecond}),
		of(nameSync, result{50, 20 * time.Microsecond}, result{25, 40 * time.Microsecond}, result{50, 20 * time.Microsecond}),
		of(nameReplay, result{120, 8 * time.Microsecond}, result{60, 16 * time.Microsecond}, result{120, 8 * time.Microsecond}),
		of(nameLimitReq, result{100, 25 * time.Microsecond}, result{50, 50 * time.Microsecond}, result{100, 25 * time.Microsecond}),
	}, load{3, 2 * time.Second, 64})
	const want = `3 rounds of 2s, 64 connections; medians. Only ratios carry over to other machines.

                         requests/s  × no filters  CPU/request  × no filters  × limit_req
      porch, no filters         100          1.00      10.0 µs          1.00         0.40
  porch, ratelimit none          80          0.80      15.0 µs          1.10         0.44
  porch, ratelimit sync          50          0.50      20.0 µs          2.00         0.80
   porch, stored replay         120          1.20       8.0 µs          0.80         0.32
        nginx limit_req         100          1.00      25.0 µs          2.50         1.00

ratelimit none: 1.10 × the processor time of no filters (goal: at most 1.15)
ratelimit sync: 0.80 × nginx limit_req (goal: at most 1); 5.0 µs of it are for commits, the difference to none
stored replay:  1.20 × the requests per second of no filters (goal: at least 1)
`
	if err != nil || out.String() != want {
		t.Errorf("%v, printed\n%s\nwant\n%s", err, out.String(), want)
	}
}
