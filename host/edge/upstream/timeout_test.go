package upstream

import (
	"io"
	"strings"
	"testing"
)

// silence is an upstream that reads all and says text alone.
func silence(text string) script {
	return func(p *peer, _ int) {
		p.head()
		p.say(text)
		p.gone()
	}
}

func TestTimeouts(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		body io.Reader
	}{
		{"no head", "", nil},
		{"half a head", "HTTP/1.1 200 OK\r\nX-A", nil},
		{"an interim response alone", "HTTP/1.1 100 Continue\r\n\r\n", nil},
		{"no head after a streamed body", "", strings.NewReader("hello")},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := dialWith(t, impatient, Options{}, listen(t, silence(test.text)))
			x := get()
			if test.body != nil {
				x = put(test.body, -1)
			}
			refuse(t, u, x, Timeout, true)
		})
	}
}

// An event stream that falls silent ends abruptly, not as if it were over.
func TestASilentStreamTimesOut(t *testing.T) {
	for name, response := range map[string]string{
		"chunks":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"fixed length": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
		"until close":  "HTTP/1.1 200 OK\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			u := dialWith(t, impatient, Options{}, listen(t, silence(response)))
			x := get()
			if err := u.Forward(x); err != nil {
				t.Fatal(err)
			}
			body, err := bodyOf(x)
			if body != "hello" {
				t.Errorf("body %q", body)
			}
			check(t, err, Timeout, true)
		})
	}
}

// An upstream that takes nothing and says nothing.
func TestAnUpstreamThatDoesNotRead(t *testing.T) {
	release := make(chan struct{})
	u := dialWith(t, impatient, Options{}, listen(t, func(p *peer, _ int) {
		p.head()
		<-release
	}))
	defer close(release)
	refuse(t, u, put(endless{}, -1), Timeout, true)
}

// The upstream's time begins when the request is sent: a slow client does not use it up.
func TestASlowClientDoesNotUseUpTheUpstreamsTime(t *testing.T) {
	u := dialWith(t, impatient, Options{}, listen(t, always(hello)))
	client := newClientBody()
	done := make(chan error)
	x := put(client, -1)
	// Stops when Forward returns; the test receives its error.
	go func() { done <- u.Forward(x) }()
	client.pieces <- "half"
	// The deadline of an unrelated request on the same upstream passes meanwhile.
	other := dialWith(t, 4*impatient, Options{}, listen(t, silence("")))
	refuse(t, other, get(), Timeout, true)
	close(client.pieces)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
