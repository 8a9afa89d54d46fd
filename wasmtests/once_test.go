package wasmtests

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// oncePolicy is a filter with one policy for begin.
func oncePolicy(name, spec string) kit.Filter { return probing(name, policy(abi.KindOnce, "o", spec)) }

// keyed is a request whose filter p begins a key with a digest of that letter.
func keyed(key, digest string) request { return asking("p", begin(0, key, digest)) }

// answers is an upstream that answers so.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const (
	execute  = "0"
	joined   = "1"
	replayed = "2"
	mismatch = "3"
)

// wantReplay asks for a stored response.
func (s *site) wantReplay(a answer, body string) {
	s.t.Helper()
	s.wantStatus(a, 200)
	want(s.t, []string{a.body, a.header.Get("Idempotent-Replayed")}, body, "true")
}

var _ = clause("BEGIN-1", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindOnce, "o", once()), policy(abi.KindLimit, "l", fixed(1, hour))))
	want(t, s.run(begin(1, "k", "d"), begin(2, "k", "d"), begin(-1, "k", "d"), begin(0, "", "d"), begin(0, "@1025", "d"), begin(0, "@1024", "d")),
		invalid, invalid, invalid, invalid, invalid, execute)
})

var _ = clause("BEGIN-2", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()))
	a := s.send(keyed("k", "d"))
	want(t, s.results(a, "p"), execute)
	want(t, []string{a.body, a.header.Get("Idempotent-Replayed")}, "up", "")
	s.up.wantCount(t, 1)
})

var _ = clause("BEGIN-3", func(t *testing.T) {
	f := oncePolicy("p", once())
	f.Instances = 1
	s := open(t, f)
	release := s.up.held(answers(200, "run"))
	defer release()
	owner := s.sending(keyed("k", "d"))
	s.up.awaitOne(t)
	waiter := s.sending(keyed("k", "d").with(func(r *request) { r.header[1] += ";log 1 joined" }))
	s.log.line(t, "text=joined")
	// The one instance is free while both wait.
	s.wantStatus(s.send(asking("p", respond(204))), 204)
	release()
	s.wantStatus(<-owner, 200)
	a := <-waiter
	s.wantReplay(a, "run")
	want(t, s.results(a, "p")[:1], joined)
	s.up.wantCount(t, 1)
})

var _ = clause("BEGIN-4", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()), probing("q"))
	s.send(keyed("k", "d"))
	a := s.send(keyed("k", "d").with(func(r *request) { r.header = append(r.header, "Probe-Request-q", "log 1 reached") }))
	s.wantReplay(a, "up")
	want(t, s.results(a, "p"), replayed)
	s.up.wantCount(t, 1)
	if strings.Contains(s.log.String(), "text=reached") {
		t.Error("a later filter was called")
	}
})

var _ = clause("BEGIN-5", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()))
	release := s.up.held(answers(200, "run"))
	defer release()
	owner := s.sending(keyed("k", "d"))
	s.up.awaitOne(t)
	a := s.send(keyed("k", "e"))
	s.wantStatus(a, http.StatusUnprocessableEntity)
	want(t, s.results(a, "p"), mismatch)
	release()
	s.wantStatus(<-owner, 200)
	s.wantStatus(s.send(keyed("k", "e")), http.StatusUnprocessableEntity)
	s.wantStatus(s.send(asking("p", begin(0, "k", "e"), respond(418))), 418)
	s.up.wantCount(t, 1)
})

var _ = clause("BEGIN-6", func(t *testing.T) {
	f := oncePolicy("p", once())
	f.Timeout = 300 * time.Millisecond
	s := open(t, f)
	for _, end := range []string{respond(418), "trap", "return 1", "exit 0", "loop"} {
		s.send(asking("p", begin(0, "k", "d"), end))
	}
	s.up.wantCount(t, 0)
	want(t, s.results(s.send(keyed("k", "other digest")), "p"), execute)
})

var _ = clause("BEGIN-7", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()), oncePolicy("q", once()))
	a := s.send(asking("p", begin(0, "", "d"), begin(0, "k", "d"), begin(0, "other", "d")).
		with(func(r *request) { r.header = append(r.header, "Probe-Request-q", begin(0, "k", "d")) }))
	want(t, s.results(a, "p"), invalid, execute, wrongPhase)
	want(t, s.results(a, "q"), wrongPhase)
})

var _ = clause("BEGIN-8", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()))
	n := 0
	s.up.does(func(w http.ResponseWriter, _ *http.Request) { n++; w.WriteHeader(201); fmt.Fprintf(w, "run %d", n) })
	var all []<-chan answer
	for range 32 {
		all = append(all, s.sending(keyed("k", "d")))
	}
	for _, a := range all {
		got := <-a
		s.wantStatus(got, 201)
		want(t, []string{got.body}, "run 1")
	}
	s.up.wantCount(t, 1)
})

var _ = clause("BEGIN-9 BEGIN-10", func(t *testing.T) {
	s := open(t, oncePolicy("p", strings.Replace(once(), "}", `,"headers":["X-Named","Set-Cookie","Date"]}`, 1)))
	kept := map[string]string{
		"Content-Type": "text/x", "Content-Encoding": "x", "Content-Language": "en", "Content-Location": "/c", "Content-Disposition": "inline",
		"Content-Range": "bytes 0-1/2", "Content-Md5": "m", "Content-Digest": "d", "Repr-Digest": "r", "Location": "/l", "Etag": `"e"`,
		"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT", "Link": "</x>", "Vary": "Accept", "X-Named": "n",
	}
	dropped := map[string]string{"Set-Cookie": "a=b", "Age": "7", "X-Other": "o", "Keep-Alive": "timeout=5", "Proxy-Authenticate": "Basic"}
	const lastYear = "Mon, 02 Jan 2006 15:04:05 GMT"
	s.up.does(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range kept {
			w.Header().Set(name, value)
		}
		for name, value := range dropped {
			w.Header().Set(name, value)
		}
		w.Header().Set("Date", lastYear)
		w.WriteHeader(202)
		io.WriteString(w, "\x00exact\r\n\xff")
	})
	first := s.send(keyed("k", "d"))
	a := s.send(keyed("k", "d"))
	s.wantStatus(a, 202)
	want(t, []string{a.body, a.header.Get("Idempotent-Replayed"), first.header.Get("Idempotent-Replayed")}, "\x00exact\r\n\xff", "true", "")
	for name, value := range kept {
		if a.header.Get(name) != value {
			t.Errorf("%s is %q", name, a.header.Get(name))
		}
	}
	for name := range dropped {
		if a.header.Get(name) != "" {
			t.Errorf("%s is replayed: %q", name, a.header.Get(name))
		}
	}
	if date := a.header.Get("Date"); date == "" || date == lastYear {
		t.Errorf("Date is %q", date)
	}
	if got := s.send(request{}).header.Get("Idempotent-Replayed"); got != "" {
		t.Errorf("a request without a key is marked: %q", got)
	}
})

var _ = clause("BEGIN-11", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()), probing("q"))
	for _, status := range []int{400, 404, 409, 500, 503} {
		s.up.does(answers(status, "no"))
		s.wantStatus(s.send(keyed("k", "d")), status)
	}
	s.wantStatus(s.send(keyed("k", "d").with(func(r *request) { r.header = append(r.header, "Probe-Request-q", respond(200)) })), 200)
	s.up.does(answers(303, "yes"))
	// What is stored is the response as it reaches the filter: q rewrites it before.
	ask := keyed("k", "d").inResponse("q", set(abi.FieldResponseHeader, "Link", "rewritten")).inResponse("p", set(abi.FieldResponseHeader, "Vary", "late"))
	want(t, s.results(s.send(ask), "p"), execute)
	a := s.send(keyed("k", "d"))
	s.wantStatus(a, 303)
	want(t, []string{a.body, a.header.Get("Link"), a.header.Get("Vary")}, "yes", "rewritten", "")
	s.up.wantCount(t, 6)

	// One waiter runs next.
	release := s.up.held(answers(500, "no"))
	defer release()
	s.up.forget()
	owner := s.sending(keyed("j", "d"))
	s.up.awaitOne(t)
	waiter := s.sending(keyed("j", "d").with(func(r *request) { r.header[1] += ";log 1 joined" }))
	s.log.line(t, "text=joined")
	s.up.does(answers(200, "second"))
	release()
	s.wantStatus(<-owner, 500)
	got := <-waiter
	s.wantStatus(got, 200)
	want(t, []string{got.body, got.header.Get("Idempotent-Replayed")}, "second", "")
})

var _ = clause("BEGIN-12", func(t *testing.T) {
	s := open(t, oncePolicy("p", onceFor(hour, hour, 10)))
	s.up.does(answers(200, "0123456789a"))
	a := s.send(keyed("k", "d"))
	want(t, []string{a.body}, "0123456789a")
	for range 2 {
		a = s.send(keyed("k", "d"))
		s.wantStatus(a, http.StatusConflict)
		want(t, []string{a.header.Get("Retry-After")}, "")
	}
	s.up.does(answers(200, "0123456789"))
	s.send(keyed("j", "d"))
	s.wantReplay(s.send(keyed("j", "d")), "0123456789")
	s.up.wantCount(t, 2)
})

var _ = clause("BEGIN-13", func(t *testing.T) {
	f := oncePolicy("p", once())
	s := open(t, f)
	s.send(keyed("k", "d"))
	after := s.crashed(f)
	after.wantReplay(after.send(keyed("k", "d")), "up")
	after.up.wantCount(t, 0)
})

var _ = clause("BEGIN-14", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()))
	release := s.up.held(answers(200, "run"))
	defer release()
	s.leaving(keyed("k", "d"))
	release()
	s.wantReplay(s.send(keyed("k", "d")), "run")
	s.up.wantCount(t, 1)
})

var _ = clause("BEGIN-15", func(t *testing.T) {
	s := open(t, oncePolicy("p", `{"ttl_ms":3600000,"max_wait_ms":100,"max_waiters":1,"max_response":100}`))
	release := s.up.held(answers(200, "run"))
	defer release()
	owner := s.sending(keyed("k", "d"))
	s.up.awaitOne(t)
	a := s.send(keyed("k", "d"))
	s.wantStatus(a, http.StatusConflict)
	if a.header.Get("Retry-After") == "" {
		t.Error("409 without Retry-After")
	}
	release()
	s.wantStatus(<-owner, 200)

	s = open(t, oncePolicy("p", `{"ttl_ms":3600000,"max_wait_ms":3600000,"max_waiters":1,"max_response":100}`))
	release = s.up.held(answers(200, "run"))
	defer release()
	owner = s.sending(keyed("k", "d"))
	s.up.awaitOne(t)
	waiter := s.sending(keyed("k", "d").with(func(r *request) { r.header[1] += ";log 1 joined" }))
	s.log.line(t, "text=joined")
	a = s.send(keyed("k", "d"))
	s.wantRefused(a)
	want(t, s.results(a, "p"), saturated)
	release()
	s.wantStatus(<-owner, 200)
	s.wantReplay(<-waiter, "run")
})

var _ = clause("BEGIN-16", func(t *testing.T) {
	s := open(t, oncePolicy("p", onceFor(400, hour, 100)))
	s.send(keyed("k", "d"))
	s.await(keyed("k", "e"), func(a answer) bool { return a.status == 200 })
	s.up.wantCount(t, 2)
})

var _ = clause("BEGIN-17", func(t *testing.T) {
	s := openWith(t, kit.Setup{Filters: []kit.Filter{oncePolicy("p", once())}, Shards: 1, Mailbox: 64})
	release := s.up.held(answers(200, "slow"))
	defer release()
	slow := s.sending(keyed("slow", "d"))
	s.up.awaitOne(t)
	s.up.does(answers(200, "quick"))
	for i := range 8 {
		want(t, []string{s.send(keyed(fmt.Sprint(i), "d")).body}, "quick")
	}
	release()
	want(t, []string{(<-slow).body}, "slow")
})

var _ = clause("BEGIN-18", func(t *testing.T) {
	s := open(t, oncePolicy("p", once()), probing("q"))
	s.wantRefused(s.send(keyed("k", "d").inResponse("q", "trap")))
	a := s.send(keyed("k", "d"))
	s.wantStatus(a, http.StatusConflict)
	want(t, []string{a.header.Get("Retry-After")}, "")
	s.up.wantCount(t, 1)
})

// part is one part of a digest.
func part(bit uint32, text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, bit)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	return append(b, text...)
}

func digestOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return "0:" + hex.EncodeToString(h.Sum(nil))
}

var _ = clause("DIGEST-1 DIGEST-2", func(t *testing.T) {
	s := open(t, probing("p", "need 1 - 100"))
	a := s.send(asking("p",
		set(abi.FieldPath, "", "/other"), set(abi.FieldQuery, "", "other"), set(abi.FieldAuthority, "", "other"), set(abi.FieldRequestHeader, "Content-Type", "other"),
		"digest 63", "digest 1", "digest 2", "digest 4", "digest 8", "digest 16", "digest 32", "digest 36").
		with(func(r *request) {
			r.method, r.target, r.body = "POST", "/a%2f?b", "body"
			r.header = append(r.header, "Host", "example.com", "Content-Type", "text/x; y=z")
		}))
	method, authority, path, query := part(1, "POST"), part(2, "example.com"), part(4, "/a%2f"), part(8, "b")
	media, body := part(16, "text/x; y=z"), part(32, "body")
	want(t, s.results(a, "p")[4:], digestOf(method, authority, path, query, media, body), digestOf(method), digestOf(authority), digestOf(path), digestOf(query),
		digestOf(media), digestOf(body), digestOf(path, body))
	want(t, s.run("digest 56"), digestOf(part(8, ""), part(16, ""), part(32, "")))
})

var _ = clause("DIGEST-3", func(t *testing.T) {
	for _, r := range open(t, probing("p")).run("digest 0", "digest 64", "digest 65", "digest -1") {
		wantIn(t, r, invalid+":0000")
	}
})

// refusing is the spec of a policy that refuses unknown outcomes.
func refusing() string {
	return strings.TrimSuffix(once(), "}") + `,"on_unknown":"refuse"}`
}

// breakOff ends the connection to the client without an answer.
func breakOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const unknownOutcome = "4"

var _ = clause("BEGIN-19", func(t *testing.T) {
	s := open(t, oncePolicy("p", refusing()), oncePolicy("q", once()))
	s.up.does(breakOff)
	s.wantStatus(s.send(keyed("k", "d")), http.StatusBadGateway)
	s.up.does(answers(200, "run"))
	a := s.send(keyed("k", "d"))
	s.wantStatus(a, http.StatusConflict)
	want(t, s.results(a, "p"), unknownOutcome)
	want(t, a.header.Values("Retry-After"))
	s.up.wantCount(t, 1)
	rerun := func() request { return asking("q", begin(0, "k", "d")) }
	s.up.does(breakOff)
	s.wantStatus(s.send(rerun()), http.StatusBadGateway)
	s.up.does(answers(200, "run"))
	a = s.send(rerun())
	s.wantStatus(a, 200)
	want(t, s.results(a, "q"), execute)
})

var _ = clause("BEGIN-20", func(t *testing.T) {
	s := open(t, oncePolicy("p", refusing()), probing("q"))
	s.up.does(answers(500, "failed"))
	s.wantStatus(s.send(keyed("k", "d")), 500)
	s.up.does(answers(200, "run"))
	a := s.send(keyed("k", "d").with(func(r *request) { r.header = append(r.header, "Probe-Request-q", respond(403)) }))
	want(t, s.results(a, "p"), execute)
	s.wantStatus(a, 403)
	a = s.send(keyed("k", "d"))
	want(t, s.results(a, "p"), execute)
	s.wantStatus(a, 200)
	s.up.wantCount(t, 2)
})
