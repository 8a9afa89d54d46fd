package upstream

import (
	"io"
	"time"

	"github.com/porchedge/porch/host/exchange"
)

const maxInterim = 8 // 1xx responses before the one that counts

// sending is one request on its connection, up to the head of its response.
type sending struct {
	upstream *Upstream
	conn     *conn
	x        *exchange.Exchange
	request  *upload // nil where the body went out with the head
	sent     bool    // at least one byte of the request was
	cut      bool    // not all of what should go out at once was
}

// run sends the request and waits for the head of the response.
func (s *sending) run() error {
	if err := s.send(); err != nil {
		return err
	}
	return s.receive()
}

// send writes the head, and a small body with it, and starts the upload of any other. The buffer is free
// again while the response is awaited.
func (s *sending) send() error {
	out := outputs.Get().(*[]byte)
	defer freeOutput(out)
	var err error
	if *out, err = s.upstream.appendHead(*out, s.x, s.conn.target); err != nil {
		s.conn.release()
		return &Error{Kind: Unsendable, Err: err}
	}
	r := &s.x.Request
	inline := contentLength(r) == 0 || r.Held && len(r.Body) <= inlineBody
	if inline && r.Held {
		*out = append(*out, r.Body...)
	}
	s.conn.SetDeadline(time.Now().Add(s.upstream.timeout))
	n, err := s.conn.Write(*out)
	s.sent, s.cut = n > 0, err != nil
	if !s.sent {
		s.conn.discard()
		return failure(err, false)
	}
	// Where only a part could be written, the upstream may have said why before it closed.
	if !inline && !s.cut {
		s.startUpload()
	}
	return nil
}

// startUpload sends the body from a goroutine of its own, since an upstream may answer before it ends.
func (s *sending) startUpload() {
	r := &s.x.Request
	s.request = &upload{
		conn:    s.conn,
		timeout: s.upstream.timeout,
		length:  r.Length,
		done:    make(chan struct{}),
	}
	if r.Held {
		s.request.held = r.Body
	} else {
		s.request.stream = r.Stream
	}
	s.conn.SetReadDeadline(time.Time{}) // set anew when the upload ends
	// Stops when the body is sent, when it fails or when stop is called; settle and fail wait for it.
	go s.request.run()
}

// receive waits for the response and hands it to the exchange.
func (s *sending) receive() error {
	r := newReader(s.conn)
	r.request = s.request
	h, text, err := s.awaitHead(r)
	if err != nil {
		return s.fail(r, err)
	}
	h.close = h.close || s.cut
	// One allocation for the fields, and for the body if all of it is here.
	arrived := r.buffered()
	memory := append(make([]byte, 0, len(text)+len(arrived)), text...)
	response := &s.x.Response
	response.Header.Reset()
	if err := h.parse(memory, &response.Header); err != nil {
		response.Header.Reset()
		return s.fail(r, err)
	}
	response.Header.RemoveHopByHop()
	response.Status = h.status
	response.Source = exchange.FromUpstream
	response.Body = exchange.Body{}
	if h.length >= 0 && h.status != 304 && s.x.Request.Method != "HEAD" {
		response.Header.Remove(nameContentLength)
	}
	r.idle = s.upstream.timeout
	switch {
	case h.bodyless(s.x.Request.Method):
		settle(r, s.request, h.persistent())
	case !h.chunked && h.length >= 0 && h.length <= int64(len(arrived)):
		r.start += int(h.length)
		response.Body.Bytes = append(memory, arrived[:h.length]...)[len(text):]
		settle(r, s.request, h.persistent())
	default:
		s.stream(r, &h)
	}
	return nil
}

// stream makes the rest of the connection the body of the response.
func (s *sending) stream(r *reader, h *head) {
	b := &body{reader: r, request: s.request, reuse: h.persistent()}
	response := &s.x.Response
	response.Body.Stream = b
	response.Body.Length = h.length
	switch {
	case h.chunked:
		b.framing = chunked
		response.Body.Trailer = b.trailers
	case h.length >= 0:
		b.framing, b.left = fixed, h.length
	default:
		b.framing = untilClose
	}
}

// awaitHead reads heads up to one that is not interim. The text is that of its fields, valid until the
// reader reads on.
func (s *sending) awaitHead(r *reader) (head, []byte, error) {
	for range maxInterim + 1 {
		text, err := r.head()
		if err == io.EOF {
			err = errEndedEarly
		}
		if err != nil {
			return head{}, nil, err
		}
		var h head
		line, fields := cutLine(text)
		if err := h.parseStatus(line); err != nil {
			return head{}, nil, err
		}
		switch {
		case h.status >= 200:
			return h, fields, nil
		case h.status == 101:
			return head{}, nil, errSwitch
		}
	}
	return head{}, nil, errInterim
}

// fail ends the connection of a request that has no response.
func (s *sending) fail(r *reader, err error) error {
	failed := failure(err, s.sent)
	if s.request != nil {
		s.request.stop()
		if cause := s.request.cause(); cause != nil {
			failed = cause
		}
	}
	r.free()
	s.conn.discard()
	return failed
}
