package upstream

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	readSize = 4 << 10  // what a reader begins with: most heads, and small bodies with them
	maxHead  = 64 << 10 // bytes of a response's head, and of its trailer
	maxLine  = 4 << 10  // bytes of a chunk's size and extensions
)

const (
	errBareFeed nonsense = "a line of the response ends without a carriage return"
	errHeadSize nonsense = "the head of the response is too large"
	errLineSize nonsense = "a chunk's line is too long"
	errNotHTTP  nonsense = "the response is not HTTP/1.1"
)

// reader buffers what an upstream sends. It belongs to whoever owns its connection.
type reader struct {
	conn *conn
	// idle is how long to wait for the next bytes; 0 leaves the connection's deadline as it is.
	idle time.Duration
	// request is what is still being sent meanwhile; nil if nothing is.
	request    *upload
	buf        []byte
	start, end int // what is buffered: buf[start:end]
}

var readers = sync.Pool{New: func() any { return &reader{buf: make([]byte, readSize)} }}

func newReader(c *conn) *reader {
	r := readers.Get().(*reader)
	r.conn = c
	return r
}

// free returns the reader to its pool. What it has buffered is gone.
func (r *reader) free() {
	buf := r.buf
	if len(buf) > readSize {
		buf = make([]byte, readSize)
	}
	*r = reader{buf: buf}
	readers.Put(r)
}

func (r *reader) buffered() []byte { return r.buf[r.start:r.end] }

// Read takes what is buffered, else reads from the connection past the buffer.
func (r *reader) Read(p []byte) (int, error) {
	if r.start < r.end {
		n := copy(p, r.buffered())
		r.start += n
		return n, nil
	}
	return r.pull(p)
}

// pull reads from the connection. While the request is still being sent there is no deadline: the upstream
// may wait for the rest of it, and the upload has a deadline of its own and sets the reader's when it ends.
func (r *reader) pull(p []byte) (int, error) {
	if r.idle == 0 {
		return r.conn.Read(p)
	}
	if r.request != nil && !r.request.over.Load() {
		r.conn.SetReadDeadline(time.Time{})
		if !r.request.over.Load() { // else it has set its deadline before ours
			return r.conn.Read(p)
		}
	}
	if r.request != nil && r.request.err != nil {
		return 0, r.request.err
	}
	r.conn.SetReadDeadline(time.Now().Add(r.idle))
	return r.conn.Read(p)
}

// fill adds to what is buffered; when there is no room the buffer grows up to limit.
func (r *reader) fill(limit int) error {
	if r.start > 0 {
		r.end = copy(r.buf, r.buffered())
		r.start = 0
	}
	if r.end == len(r.buf) {
		if len(r.buf) >= limit {
			return errHeadSize
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.pull(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// section takes lines up to and with an empty one: a head or a trailer. What it returns is valid until the
// next call. It refuses a line feed without its carriage return at once, not when time is up.
func (r *reader) section() ([]byte, error) {
	line, scanned := 0, 0 // where the present line begins and how far it was searched, from start
	for {
		held := r.buffered()
		for {
			i := bytes.IndexByte(held[scanned:], '\n')
			if i < 0 {
				break
			}
			feed := scanned + i
			if feed == line || held[feed-1] != '\r' {
				return nil, errBareFeed
			}
			scanned = feed + 1
			if feed-1 == line {
				r.start += scanned
				return held[:scanned], nil
			}
			line = scanned
		}
		scanned = len(held)
		if scanned >= maxHead {
			return nil, errHeadSize
		}
		if err := r.fill(maxHead); err != nil {
			return nil, err
		}
	}
}

// head takes the head of a response. The error is io.EOF when the connection ended before its first byte.
func (r *reader) head() ([]byte, error) {
	for len(r.buffered()) < len(protocol) {
		if err := r.fill(maxHead); err != nil {
			return nil, r.cut(err)
		}
		if held := r.buffered(); !bytes.HasPrefix(held, protocol[:min(len(held), len(protocol))]) {
			return nil, errNotHTTP
		}
	}
	head, err := r.section()
	return head, r.cut(err)
}

// cut turns the end of the connection inside of something into io.ErrUnexpectedEOF.
func (r *reader) cut(err error) error {
	if err == io.EOF && r.start < r.end {
		return io.ErrUnexpectedEOF
	}
	return err
}

// line takes one line, without its end, of at most maxLine bytes. It is valid until the next call.
func (r *reader) line() ([]byte, error) {
	scanned := 0
	for {
		held := r.buffered()
		if i := bytes.IndexByte(held[scanned:], '\n'); i >= 0 {
			feed := scanned + i
			if feed == 0 || held[feed-1] != '\r' {
				return nil, errBareFeed
			}
			r.start += feed + 1
			return held[:feed-1], nil
		}
		scanned = len(held)
		if scanned >= maxLine {
			return nil, errLineSize
		}
		if err := r.fill(maxHead); err != nil {
			return nil, err
		}
	}
}

var protocol = []byte("HTTP/1.")
