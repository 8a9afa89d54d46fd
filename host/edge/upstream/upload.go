package upstream

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/porchedge/porch/host/exchange"
)

const (
	pieceSize = 32 << 10 // bytes of a body that are sent at once
	sizeRoom  = 10       // before a piece, for its size as a chunk: eight digits and the line's end
	endRoom   = 2        // after it
)

// upload sends the body of a request while the response is awaited. Its goroutine alone writes to the
// connection; everybody else waits for done before using the connection otherwise or the client's body.
type upload struct {
	conn    *conn
	timeout time.Duration
	held    []byte
	stream  io.Reader // nil if the body is held
	length  int64     // of the stream; -1 sends chunks

	stopped atomic.Bool
	// over is set when nothing more will be sent. err and fromClient may be read from then on.
	over       atomic.Bool
	err        error
	fromClient bool // err is of the client's body, not of the connection
	done       chan struct{}
}

var pieces = sync.Pool{New: func() any {
	b := make([]byte, sizeRoom+pieceSize+endRoom)
	return &b
}}

// run sends all of it. When it ends, the time for the upstream's answer begins; if the client's body failed
// or the upstream takes nothing, whoever waits for the answer is woken.
func (u *upload) run() {
	defer close(u.done)
	u.err = u.send()
	u.over.Store(true)
	if u.fromClient || errors.Is(u.err, os.ErrDeadlineExceeded) {
		u.conn.SetReadDeadline(past)
	} else {
		u.conn.SetReadDeadline(time.Now().Add(u.timeout))
	}
}

// stop ends the upload if it is not over and waits for it. If the client's body can be interrupted it
// waits for nobody else.
func (u *upload) stop() {
	u.stopped.Store(true)
	if !u.over.Load() {
		if i, ok := u.stream.(exchange.Interrupter); ok {
			i.Interrupt()
		}
		u.conn.SetWriteDeadline(past)
	}
	<-u.done
}

// cause is the failure that the upload itself gives reason for, once it is over: the client's body, or an
// upstream that takes nothing. What else goes wrong when writing shows when reading, as may an answer.
func (u *upload) cause() *Error {
	switch {
	case !u.over.Load() || u.err == nil || u.stopped.Load() && !u.fromClient:
		return nil
	case u.fromClient:
		return &Error{Kind: ClientBody, Sent: true, Err: u.err}
	case errors.Is(u.err, os.ErrDeadlineExceeded):
		return &Error{Kind: Timeout, Sent: true, Err: u.err}
	default:
		return nil
	}
}

func (u *upload) send() error {
	if u.stream == nil {
		for rest := u.held; len(rest) > 0; {
			n := min(len(rest), pieceSize)
			if err := u.write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}
	piece := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	if u.length < 0 {
		return u.sendChunks(*piece)
	}
	return u.sendFixed((*piece)[:pieceSize])
}

// sendFixed sends length bytes of the stream, neither more nor less.
func (u *upload) sendFixed(piece []byte) error {
	for left := u.length; left > 0; {
		n, err := u.read(piece[:min(left, int64(len(piece)))])
		if err == io.EOF {
			return u.clientFailed(io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		if err := u.write(piece[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// sendChunks sends each piece of the stream as a chunk. The last chunk is sent only after the true end of
// the client's body: without it no upstream takes what came for a whole.
func (u *upload) sendChunks(piece []byte) error {
	for {
		n, err := u.read(piece[sizeRoom : sizeRoom+pieceSize])
		if err == io.EOF {
			return u.write(lastChunk)
		}
		if err != nil {
			return err
		}
		if err := u.write(chunkOf(piece, n)); err != nil {
			return err
		}
	}
}

// chunkOf makes the n bytes after sizeRoom a chunk, in place.
func chunkOf(piece []byte, n int) []byte {
	var room [sizeRoom]byte
	size := append(strconv.AppendInt(room[:0], int64(n), 16), '\r', '\n')
	start := sizeRoom - len(size)
	copy(piece[start:], size)
	return append(piece[start:sizeRoom+n], '\r', '\n')
}

// read reads at least one byte of the client's body, or returns io.EOF at its end.
func (u *upload) read(p []byte) (int, error) {
	for range maxEmptyReads {
		n, err := u.stream.Read(p)
		if u.stopped.Load() {
			return 0, errStopped
		}
		if n > 0 {
			return n, nil // an error comes again
		}
		if err == io.EOF {
			return 0, io.EOF
		}
		if err != nil {
			return 0, u.clientFailed(err)
		}
	}
	return 0, u.clientFailed(io.ErrNoProgress)
}

const maxEmptyReads = 100

func (u *upload) clientFailed(err error) error {
	u.fromClient = true
	return err
}

func (u *upload) write(p []byte) error {
	u.conn.SetWriteDeadline(time.Now().Add(u.timeout))
	if u.stopped.Load() { // stop has set its deadline before ours
		return errStopped
	}
	_, err := u.conn.Write(p)
	return err
}

var lastChunk = []byte("0\r\n\r\n")
