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

// pass lets more time pass than an impatient upstream is given.
func pass(t *testing.T) {
	t.Helper()
	other := dialWith(t, 4*impatient, Options{}, listen(t, silence("")))
	refuse(t, other, get(), Timeout, true)
}

// The upstream's time begins when the request is sent: a slow client does not use it up.
func TestASlowClientDoesNotUseUpTheUpstreamsTime(t *testing.T) {
	u := dialWith(t, impatient, Options{}, listen(t, always(hello)))
	client := newClientBody()
	done := make(chan error)
	// Stops when Forward returns; the test receives its error.
	go func() { done <- u.Forward(put(client, -1)) }()
	client.say(t, "half")
	pass(t)
	close(client.pieces)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Nor does it where the response has begun and waits for the rest of the request.
func TestASlowClientDoesNotCutItsResponse(t *testing.T) {
	u := dialWith(t, impatient, Options{}, listen(t, func(p *peer, _ int) {
		p.head()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		p.say(string(chunkText(p.chunks())) + "0\r\n\r\n")
	}))
	client := newClientBody()
	x := put(client, -1)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	// Stops when the response has ended; the test waits for it.
	go func() {
		defer close(done)
		if body, err := bodyOf(x); body != "hello" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
	}()
	client.say(t, "hel")
	pass(t)
	client.say(t, "lo")
	close(client.pieces)
	<-done
}

// But when the request is sent, the rest of the response must come in time.
func TestAResponseThatFallsSilentAfterItsRequest(t *testing.T) {
	sent := make(chan struct{})
	u := dialWith(t, impatient, Options{}, listen(t, func(p *peer, _ int) {
		p.head()
		p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		p.chunks()
		close(sent)
		p.gone()
	}))
	client := newClientBody()
	x := put(client, -1)
	if err := u.Forward(x); err != nil {
		t.Fatal(err)
	}
	close(client.pieces)
	<-sent
	_, err := bodyOf(x)
	check(t, err, Timeout, true)
}
