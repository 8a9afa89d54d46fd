package upstream

import (
	"bytes"
	"io"

	"github.com/porchedge/porch/host/exchange"
)

const (
	errChunkSize nonsense = "a chunk's size is malformed"
	errChunkEnd  nonsense = "a chunk is longer than its size"
)

// readChunk reads from a chunked body, and the trailer after it.
func (b *body) readChunk(p []byte) (int, error) {
	if b.left == 0 {
		if err := b.nextChunk(); err != nil {
			return 0, err
		}
	}
	return b.readLeft(p)
}

// nextChunk goes to the next chunk's bytes. After the last one it reads the trailer and returns io.EOF.
func (b *body) nextChunk() error {
	if b.chunk {
		b.chunk = false
		if end, err := b.reader.line(); err != nil {
			return short(err)
		} else if len(end) > 0 {
			return errChunkEnd
		}
	}
	line, err := b.reader.line()
	if err != nil {
		return short(err)
	}
	size, ok := parseChunkSize(line)
	if !ok {
		return errChunkSize
	}
	if size > 0 {
		b.left, b.chunk = size, true
		return nil
	}
	text, err := b.reader.section()
	if err != nil {
		return short(err)
	}
	if err := parseFields(bytes.Clone(text), &b.trailer); err != nil {
		return err
	}
	b.trailer.RemoveHopByHop()
	return io.EOF
}

// short is an error within the framing, where the connection must not end.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// trailers are the fields after the body, without those that belong to a head: framing, and where the
// message was meant to go.
func (b *body) trailers() []exchange.Field {
	for _, name := range [][]byte{nameContentLength, nameHost} {
		b.trailer.Remove(name)
	}
	return b.trailer.Fields
}

// parseChunkSize reads hexadecimal digits, after which extensions may follow; they are dropped.
func parseChunkSize(line []byte) (int64, bool) {
	digits, extensions, _ := bytes.Cut(line, semicolon)
	digits = bytes.TrimRight(digits, " \t") // some servers pad the size
	if len(digits) == 0 || len(digits) > 15 || !clean(extensions) {
		return 0, false
	}
	var size int64
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		size = size<<4 | int64(c)
	}
	return size, true
}

var semicolon = []byte(";")
