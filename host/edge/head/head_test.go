package head

import (
	"bytes"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/exchange"
)

var limits = Limits{Fields: 8, Body: 1 << 20}

// parse cuts a raw head as a lenient parser would, so that all else is left to Read.
func parse(raw []byte) (Head, bool) {
	line, fields, ok := bytes.Cut(raw, []byte("\r\n"))
	words := bytes.Split(line, []byte(" "))
	if !ok || len(words) != 3 {
		return Head{}, false
	}
	return Head{Method: words[0], Target: words[1], Protocol: words[2], Fields: fields}, true
}

func TestRead(t *testing.T) {
	raw := "POST http://A:80/p%2F?q=1?2 HTTP/1.1\r\nhost: a:80\r\nX:\t1 \r\nexpect: 100-CONTINUE\r\nContent-Type: t/t\r\nContent-Length: 007\r\n\r\n"
	h, _ := parse([]byte(raw))
	var r exchange.Request
	expects, err := h.Read(&r, limits)
	if err != nil || !expects {
		t.Fatalf("expects %v, %v", expects, err)
	}
	got := strings.Join([]string{r.Method, r.Scheme, string(r.Authority), string(r.Path), string(r.Query)}, " ")
	if got != "POST http A:80 /p%2F q=1?2" || !r.HasQuery || r.Length != 7 {
		t.Errorf("%s, length %d", got, r.Length)
	}
	var fields []string
	for _, f := range r.Header.Fields {
		fields = append(fields, string(f.Name)+"="+string(f.Value))
	}
	if got := strings.Join(fields, " "); got != "host=a:80 X=1 Content-Type=t/t Content-Length=007" {
		t.Errorf("fields %s", got)
	}
	if s := r.Sent; s.Method != "POST" || string(s.MediaType) != "t/t" || string(s.Path) != "/p%2F" || string(s.Query) != "q=1?2" || !s.HasQuery || string(s.Authority) != "A:80" {
		t.Errorf("sent %+v", s)
	}
}

func TestReadRefuses(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: a\r\n"
	tests := []struct {
		name, raw string
		want      error
	}{
		{"empty method", " / HTTP/1.1\r\nHost: a\r\n\r\n", errMethod},
		{"long method", strings.Repeat("A", 33) + " / HTTP/1.1\r\nHost: a\r\n\r\n", errMethod},
		{"CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", errNotImplemented},
		{"version", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", ErrVersion},
		{"too many fields", get + strings.Repeat("X: 1\r\n", 8) + "\r\n", errTooManyFields},
		{"bytes after the end", get + "\r\nX: 1\r\n\r\n", errLine},
		{"no end of line", "GET / HTTP/1.1\r\nHost: a", errLine},
		{"bare LF", get + "\n", errLine},
		{"fold", get + " x\r\n\r\n", errFold},
		{"name", get + "X Y: 1\r\n\r\n", errName},
		{"value", get + "X: \x7f\r\n\r\n", errValue},
		{"shadow", get + "transfer_encoding: chunked\r\n\r\n", errShadow},
		{"shadow in part", get + "X-Forwarded_For: 1\r\n\r\n", errShadow},
		{"Host", "GET / HTTP/1.1\r\n\r\n", errHost},
		{"type", get + "Content-Type: a\r\nContent-type: b\r\n\r\n", errTwoTypes},
		{"expectation", get + "Expect: 101\r\n\r\n", errExpectation},
		{"coding", get + "Transfer-Encoding: x\r\n\r\n", errCoding},
		{"framings", get + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", errTwoFramings},
		{"length", get + "Content-Length: 1 \r\nContent-Length: 1\r\n\r\n", errLength},
		{"large", get + "Content-Length: 1048577\r\n\r\n", errBodyTooLarge},
		{"beyond numbers", get + "Content-Length: 99999999999999999999\r\n\r\n", errBodyTooLarge},
		{"fragment", "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", errFragment},
		{"target", "GET x HTTP/1.1\r\nHost: a\r\n\r\n", errTarget},
		{"no host in the target", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", errAuthority},
		{"user information", "GET http://u@a/x HTTP/1.1\r\nHost: a\r\n\r\n", errUserInfo},
		{"other host", "GET http://a:80/x HTTP/1.1\r\nHost: a\r\n\r\n", errTwoAuthorities},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, ok := parse([]byte(tt.raw))
			if !ok {
				t.Fatal("not of three words")
			}
			if _, err := h.Check(limits); err != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

func TestAllows(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: a\r\n"
	tests := []struct{ name, raw string }{
		{"underscore of its own", get + "my_field: 1\r\n\r\n"},
		{"long name with underscore", get + "transfer_encoding_hint: 1\r\n\r\n"},
		{"value above ASCII", get + "X: \xe4\r\n\r\n"},
		{"tab in a value", get + "X: a\tb\r\n\r\n"},
		{"empty value", get + "X:\r\n\r\n"},
		{"path above ASCII", "GET /\xe4 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"1.0 without fields", "GET / HTTP/1.0\r\n"},
		{"expectation of 1.0", "GET / HTTP/1.0\r\nExpect: tea\r\n\r\n"},
		{"IPv6 host and port", "GET / HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"},
		{"absolute target of 1.0 without Host", "GET http://a/ HTTP/1.0\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := parse([]byte(tt.raw))
			if _, err := h.Check(limits); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzRead holds what is accepted to what nobody can read in two ways.
func FuzzRead(f *testing.F) {
	const get, post = "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n"
	for _, seed := range []string{
		get + "\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", get + "X Y: 1\r\n\r\n", get + "X: 1\n\r\n",
		get + "\n", get + "X: 1\r\n 2\r\n\r\n", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		post + "Transfer-Encoding: identity\r\n\r\n", post + "Content_Length: 5\r\n\r\n", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
		post + "Content-Length: 5, 5\r\n\r\n", post + "Content-Length: +5\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
		"GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		post + "Expect: tea\r\n\r\n", post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", "GET /a?#b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::1%25x]:80\r\n\r\n", get + strings.Repeat("X: 1\r\n", 9) + "\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, ok := parse(raw)
		if !ok {
			return
		}
		given := bytes.Clone(raw)
		var r exchange.Request
		expects, err := h.Read(&r, limits)
		if !bytes.Equal(raw, given) {
			t.Fatal("the head was changed")
		}
		if checked, same := h.Check(limits); same != err || checked != expects {
			t.Fatalf("Check says %v, %v; Read says %v, %v", checked, same, expects, err)
		}
		if err != nil {
			return
		}
		var hosts, lengths, codings int
		for _, field := range r.Header.Fields {
			if !allOf(field.Name, inName) || bytes.ContainsAny(field.Value, "\r\n\x00") {
				t.Fatalf("field %q: %q", field.Name, field.Value)
			}
			switch strings.ToLower(strings.ReplaceAll(string(field.Name), "_", "-")) {
			case "host":
				hosts++
			case "content-length":
				lengths++
			case "transfer-encoding":
				codings++
			case "expect":
				t.Fatal("Expect is passed on")
			}
		}
		modern := string(h.Protocol) == "HTTP/1.1"
		if hosts > 1 || modern && hosts != 1 || lengths+codings > 1 || codings > 0 && (!modern || r.Length != -1) {
			t.Fatalf("%d Host, %d Content-Length, %d Transfer-Encoding, length %d", hosts, lengths, codings, r.Length)
		}
		if codings == 0 && lengths == 0 && r.Length != 0 || r.Length > limits.Body || r.Length < -1 {
			t.Fatalf("length %d", r.Length)
		}
		if r.Method != strings.ToUpper(r.Method) || r.Method == "CONNECT" || r.Method == "TRACE" {
			t.Fatalf("method %q", r.Method)
		}
		if len(r.Path) == 0 || r.Path[0] != '/' && string(r.Path) != "*" || bytes.ContainsAny(r.Path, "?# \r\n") || bytes.ContainsAny(r.Query, "# \r\n") {
			t.Fatalf("path %q, query %q", r.Path, r.Query)
		}
		if bytes.ContainsAny(r.Authority, "@/, \r\n") {
			t.Fatalf("authority %q", r.Authority)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	h, _ := parse([]byte("GET /v1/items?a=b HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0)\r\n" +
		"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nCookie: session=0123456789abcdef\r\n\r\n"))
	for b.Loop() {
		h.Check(limits) //nolint:errcheck // allowed
	}
}
