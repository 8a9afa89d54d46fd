package acceptance

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// Types of problem documents.
const (
	blank           = "about:blank"
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// problem is an error body as RFC 9457 has it.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Instance string   `json:"instance"`
	Violated []string `json:"violated-policies"`
}

// wantProblem asserts that the reply is an error document of porch's own, and returns it.
func wantProblem(t testing.TB, got reply, status int, kind string) problem {
	t.Helper()
	if got.status != status {
		t.Errorf("status %d, want %d; body %q", got.status, status, got.body)
		return problem{}
	}
	if media, _, _ := mime.ParseMediaType(got.header.Get("Content-Type")); media != "application/problem+json" {
		t.Errorf("%d with content type %q", status, got.header.Get("Content-Type"))
	}
	var doc problem
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Errorf("%d with body %q: %v", status, got.body, err)
		return problem{}
	}
	if doc.Type != kind || doc.Status != status || doc.Title == "" || doc.Detail == "" || doc.Instance == "" {
		t.Errorf("%d with an incomplete document or another type than %q: %s", status, kind, got.body)
	}
	return doc
}

// wantUnavailable asserts a 503 of porch's own.
func wantUnavailable(t testing.TB, got reply) {
	t.Helper()
	wantProblem(t, got, http.StatusServiceUnavailable, reducedCapacity)
	wantRetryAfter(t, got)
	wantNoStore(t, got)
}

// wantRetryAfter asserts whole seconds, at least 1, and returns them.
func wantRetryAfter(t testing.TB, got reply) int {
	t.Helper()
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || after < 1 {
		t.Errorf("%d with Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	return after
}

func wantNoStore(t testing.TB, got reply) {
	t.Helper()
	if cc := got.header.Get("Cache-Control"); cc != "no-store" {
		t.Errorf("%d with Cache-Control %q, want no-store", got.status, cc)
	}
}

func wantStatus(t testing.TB, got reply, status int) {
	t.Helper()
	if got.status != status {
		t.Errorf("status %d, want %d; body %q", got.status, status, got.body)
	}
}

// wantReplay asserts that again is the stored answer to first.
func wantReplay(t testing.TB, again, first reply) {
	t.Helper()
	if again.status != first.status || again.body != first.body {
		t.Errorf("replay is %d %q, the first answer was %d %q", again.status, again.body, first.status, first.body)
	}
	if !replayed(again) {
		t.Errorf("replay without its marker: %v", again.header)
	}
}

func replayed(r reply) bool { return r.header.Get("Idempotent-Replayed") == "true" }

// quota is what the three header families say about one policy.
type quota struct {
	limit, remaining, reset, window int64
	name                            string
}

// lastQuota reads all three families of a reply; porch's own list members are the last.
func lastQuota(t testing.TB, got reply) quota {
	t.Helper()
	var q quota
	name, policy := lastItem(t, got, "RateLimit-Policy")
	q.name, q.limit, q.window = name, number(t, policy, "q"), number(t, policy, "w")
	name, state := lastItem(t, got, "RateLimit")
	if name != q.name {
		t.Errorf("RateLimit is about %q, RateLimit-Policy about %q", name, q.name)
	}
	q.remaining, q.reset = number(t, state, "r"), number(t, state, "t")
	for field, want := range map[string]int64{"X-RateLimit-Limit": q.limit, "X-RateLimit-Remaining": q.remaining} {
		if got.header.Get(field) != strconv.FormatInt(want, 10) {
			t.Errorf("%s is %q, want %d", field, got.header.Get(field), want)
		}
	}
	// Both were rounded up by the server's clock, which is this machine's.
	wall, err := strconv.ParseInt(got.header.Get("X-RateLimit-Reset"), 10, 64)
	if away := wall - time.Now().Unix(); err != nil || away > q.reset+1 || away < q.reset-int64(patience/time.Second) {
		t.Errorf("X-RateLimit-Reset is %q, %d s away; RateLimit says %d", got.header.Get("X-RateLimit-Reset"), away, q.reset)
	}
	return q
}

func lastItem(t testing.TB, got reply, field string) (string, *httpsfv.Params) {
	t.Helper()
	list, err := httpsfv.UnmarshalList(got.header.Values(field))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s %q: %v", field, got.header.Values(field), err)
	}
	item, ok := list[len(list)-1].(httpsfv.Item)
	if !ok {
		t.Fatalf("%s %q: not an item", field, got.header.Values(field))
	}
	name, ok := item.Value.(string)
	if !ok {
		t.Fatalf("%s %q: not a string", field, got.header.Values(field))
	}
	return name, item.Params
}

func number(t testing.TB, params *httpsfv.Params, name string) int64 {
	t.Helper()
	v, _ := params.Get(name)
	n, ok := v.(int64)
	if !ok {
		t.Fatalf("parameter %s is %v", name, v)
	}
	return n
}
