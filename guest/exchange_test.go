package guest_test

import (
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

// on runs a handler for a request, and afterwards checks that it did not fail.
func on(t *testing.T, h *guesttest.Host, r guesttest.Request, handle func(*guest.Request)) *guesttest.Exchange {
	t.Helper()
	x := h.Request(func() int32 { return guest.OnRequest(handle) }, r)
	if x.Failed {
		t.Error("the filter failed")
	}
	return x
}

func collect(l guest.List) string {
	var all []string
	for entry := range l.All() {
		all = append(all, string(entry))
	}
	return strings.Join(all, "|")
}

func TestReadRequest(t *testing.T) {
	r := guesttest.Request{
		Method: "PUT", Scheme: "https", Authority: "api.example.com:8443", Target: "/a%2Fb//c?x=1", RoutePath: "/a/b/c",
		Header: []guesttest.Field{{Name: "A", Value: "1"}, {Name: "b", Value: ""}, {Name: "a", Value: "2"}},
		Peer:   "10.0.0.1", Client: "192.0.2.7", ID: "id", Route: "api",
		Properties: []guesttest.Field{{Name: "auth/subject", Value: "s"}},
	}
	on(t, guesttest.New(t), r, func(r *guest.Request) {
		query, _ := r.Query()
		a, _ := r.Header("a")
		subject, _ := r.Property("auth/subject")
		for want, got := range map[string]string{
			"PUT": string(r.Method()), "https": string(r.Scheme()), "api.example.com:8443": string(r.Authority()),
			"/a%2Fb//c": string(r.Path()), "x=1": string(query), "/a/b/c": string(r.RoutePath()), "1": string(a),
			"10.0.0.1": string(r.Peer()), "192.0.2.7": string(r.Client()), "id": string(r.RequestID()),
			"api": string(r.Route()), "filter": string(r.Filter()), "s": string(subject),
			"1|2": collect(r.HeaderValues("A")), "A|b": collect(r.HeaderNames()), "auth/subject": collect(r.PropertyNames()),
			"": collect(r.HeaderValues("c")),
		} {
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if b, ok := r.Header("B"); !ok || len(b) != 0 {
			t.Errorf("an empty header: %q %t", b, ok)
		}
		if _, ok := r.Header("c"); ok {
			t.Error("a header that is not there")
		}
	})
}

// What was read stays valid until the handler returns, however much is read after it.
func TestValuesDoNotOverlap(t *testing.T) {
	large := strings.Repeat("x", 20<<10)
	r := guesttest.Request{Header: []guesttest.Field{
		{Name: "First", Value: "first"}, {Name: "Large", Value: large}, {Name: "Huge", Value: large + large + large},
	}}
	on(t, guesttest.New(t), r, func(r *guest.Request) {
		first, _ := r.Header("First")
		big, _ := r.Header("Large")
		huge := r.HeaderValues("Huge")
		again, _ := r.Header("First")
		entry, _ := huge.Next()
		if string(first) != "first" || string(big) != large || string(again) != "first" || string(entry) != large+large+large {
			t.Error("values overlap")
		}
	})
}

func TestWrite(t *testing.T) {
	h := guesttest.New(t)
	x := on(t, h, guesttest.Request{Target: "/a?x"}, func(r *guest.Request) {
		for _, step := range []struct {
			name      string
			got, want error
		}{
			{"path", r.SetPath([]byte("/b")), nil},
			{"authority", r.SetAuthority([]byte("b.example")), nil},
			{"query", r.RemoveQuery(), nil},
			{"no query", r.RemoveQuery(), guest.ErrAbsent},
			{"no slash", r.SetPath([]byte("b")), guest.ErrInvalid},
			{"framing", r.SetHeader("Connection", []byte("close")), guest.ErrDenied},
			{"large", r.SetProperty("p", make([]byte, abi.MaxProperty+1)), guest.ErrTooLarge},
		} {
			if step.got != step.want {
				t.Errorf("%s: got %v, want %v", step.name, step.got, step.want)
			}
		}
		r.SetHeader("X-A", []byte("1"))
		r.AddHeader("X-A", []byte("2"))
		r.AddHeader("X-B", []byte("3"))
		r.RemoveHeader("x-a")
		r.AddResponseHeader("X-C", []byte("4"))
		r.RemoveResponseHeader("Server")
		r.SetProperty("kept", []byte("5"))
		r.SetProperty("gone", []byte("6"))
		r.RemoveProperty("gone")
	})
	if r := x.Request; r.Target != "/b" || r.Authority != "b.example" || len(r.Header) != 1 || r.Header[0].Value != "3" {
		t.Errorf("goes on as %+v", r)
	}
	if len(x.Properties) != 1 || x.Properties[0] != (guesttest.Field{Name: "filter/kept", Value: "5"}) {
		t.Errorf("properties %v", x.Properties)
	}
	h.Response(func() int32 {
		return guest.OnResponse(func(r *guest.Response) {
			if r.Status() != 200 || collect(r.ResponseHeaderNames()) != "X-C" {
				t.Errorf("status %d, header %s", r.Status(), collect(r.ResponseHeaderNames()))
			}
			r.SetStatus(203)
			r.SetResponseHeader("x-c", []byte("7"))
			if err := r.SetStatus(99); err != guest.ErrInvalid {
				t.Errorf("status 99: %v", err)
			}
			if v, ok := r.ResponseHeader("X-C"); !ok || string(v) != "7" {
				t.Errorf("X-C %q", v)
			}
			if _, ok := r.Outcome(); ok {
				t.Error("an outcome without a key")
			}
		})
	}, x, 200, guesttest.Field{Name: "Server", Value: "s"})
	if x.Failed || x.Response.Status != 203 {
		t.Errorf("failed %t, status %d", x.Failed, x.Response.Status)
	}
}

func TestAnswerEndsTheTurn(t *testing.T) {
	x := on(t, guesttest.New(t), guesttest.Request{}, func(r *guest.Request) {
		r.SetResponseHeader("X-A", []byte("1"))
		r.SetBody([]byte("body"))
		if err := r.Respond(42); err != guest.ErrInvalid {
			t.Errorf("status 42: %v", err)
		}
		if err := r.Respond(204); err != nil {
			t.Error(err)
		}
		if err := r.SetBody(nil); err != guest.ErrWrongPhase {
			t.Errorf("after the answer: %v", err)
		}
	})
	if x.Status != 204 || x.Body != "body" || len(x.Answer()) != 1 {
		t.Errorf("answered %d %q %v", x.Status, x.Body, x.Answer())
	}
}

func TestFail(t *testing.T) {
	h := guesttest.New(t)
	x := h.Request(func() int32 { return guest.OnRequest(func(r *guest.Request) { r.Fail("why") }) }, guesttest.Request{})
	if !x.Failed || len(h.Lines) != 1 || h.Lines[0] != "error why" {
		t.Errorf("failed %t, log %q", x.Failed, h.Lines)
	}
	// One call's failure is not the next one's.
	on(t, h, guesttest.Request{}, func(*guest.Request) {})
}

func TestRefuse(t *testing.T) {
	h := guesttest.New(t)
	p := &guest.Problem{Status: 403, Title: "Forbidden", Detail: `a "quoted" detail`, Members: []byte(`"n":1`)}
	for _, id := range []string{"one", "two"} {
		x := on(t, h, guesttest.Request{ID: id}, func(r *guest.Request) { r.Refuse(p) })
		want := `{"type":"about:blank","title":"Forbidden","status":403,"detail":"a \"quoted\" detail","n":1,"instance":"` + id + `"}`
		if x.Status != 403 || x.Body != want {
			t.Errorf("%d %s", x.Status, x.Body)
		}
	}
}

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]string{"192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::1", "": "", "a": "", "fe80::1%eth0": ""} {
		addr, ok := guest.ParseAddr([]byte(text))
		if ok != (want != "") || ok && addr.String() != want {
			t.Errorf("%q: %v %t", text, addr, ok)
		}
	}
}
