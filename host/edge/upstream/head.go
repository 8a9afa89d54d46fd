package upstream

import (
	"bytes"

	"github.com/porchedge/porch/host/exchange"
)

const (
	errStatusLine nonsense = "the status line is malformed"
	errSwitch     nonsense = "the upstream switches protocols unasked"
	errInterim    nonsense = "too many interim responses"
	errFieldName  nonsense = "a field of the response has a malformed name"
	errFieldValue nonsense = "a field of the response has control characters in its value"
	errFolded     nonsense = "a field of the response is folded"
	errFraming    nonsense = "the framing of the response is ambiguous"
	errLength     nonsense = "the Content-Length of the response is malformed"
	errCoding     nonsense = "the response has a transfer coding other than chunked"
)

// head is what a response's head says about the message, beside its fields.
type head struct {
	status  int
	minor   byte  // of the version: HTTP/1.minor
	length  int64 // Content-Length; -1 without one
	chunked bool
	close   bool // the connection ends with the response
	keep    bool // HTTP/1.0 only: it does not
}

// parseStatus takes in a status line, without its end.
func (h *head) parseStatus(line []byte) error {
	const digits = len("HTTP/1.x ")
	if len(line) < digits+3 || !bytes.HasPrefix(line, protocol) || line[digits-1] != ' ' {
		return errStatusLine
	}
	h.minor = line[digits-2] - '0'
	if h.minor > 1 || len(line) > digits+3 && line[digits+3] != ' ' || !clean(line[digits+3:]) {
		return errStatusLine
	}
	for _, d := range line[digits : digits+3] {
		if d < '0' || d > '9' {
			return errStatusLine
		}
		h.status = h.status*10 + int(d-'0')
	}
	if h.status < 100 || h.status > 599 {
		return errStatusLine
	}
	return nil
}

// parse reads the fields of a head, appends them to header and notes what they say. They point into text.
func (h *head) parse(text []byte, header *exchange.Header) error {
	h.length = -1
	if err := parseFields(text, header); err != nil {
		return err
	}
	for _, f := range header.Fields {
		if err := h.note(f); err != nil {
			return err
		}
	}
	if h.chunked && (h.length >= 0 || h.minor == 0) {
		return errFraming
	}
	return nil
}

// parseFields reads field lines up to the empty one.
func parseFields(text []byte, header *exchange.Header) error {
	for {
		line, rest := cutLine(text)
		if len(line) == 0 {
			return nil
		}
		text = rest
		if line[0] == ' ' || line[0] == '\t' {
			return errFolded
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !isToken(line[:colon]) {
			return errFieldName
		}
		value := bytes.Trim(line[colon+1:], " \t")
		if !clean(value) {
			return errFieldValue
		}
		header.Add(line[:colon:colon], value[:len(value):len(value)])
	}
}

// cutLine splits after the first line; both are without the line's end.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	return text[:i-1], text[i+1:]
}

// note takes in what a field says about framing and about the connection.
func (h *head) note(f exchange.Field) error {
	switch len(f.Name) {
	case len(nameContentLength):
		if !bytes.EqualFold(f.Name, nameContentLength) {
			return nil
		}
		n, ok := parseLength(f.Value)
		if !ok {
			return errLength
		}
		if h.length >= 0 && h.length != n {
			return errFraming
		}
		h.length = n
	case len(nameTransferEncoding):
		if !bytes.EqualFold(f.Name, nameTransferEncoding) {
			return nil
		}
		if h.chunked || !bytes.EqualFold(f.Value, valueChunked) {
			return errCoding
		}
		h.chunked = true
	case len(nameConnection):
		if !bytes.EqualFold(f.Name, nameConnection) {
			return nil
		}
		for rest := f.Value; len(rest) > 0; {
			var option []byte
			option, rest, _ = bytes.Cut(rest, comma)
			option = bytes.Trim(option, " \t")
			h.close = h.close || bytes.EqualFold(option, valueClose)
			h.keep = h.keep || bytes.EqualFold(option, valueKeepAlive)
		}
	}
	return nil
}

// persistent says whether the connection may be used again once the response was read to its end.
func (h *head) persistent() bool { return !h.close && (h.minor == 1 || h.keep) }

// bodyless says whether a response to method has no body, whatever its fields say.
func (h *head) bodyless(method string) bool {
	return method == "HEAD" || h.status == 204 || h.status == 304
}

// parseLength reads a number of digits alone, as large as fits.
func parseLength(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	var n int64
	for _, d := range text {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	return n, true
}

var (
	nameContentLength    = []byte("Content-Length")
	nameTransferEncoding = []byte("Transfer-Encoding")
	nameConnection       = []byte("Connection")
	valueChunked         = []byte("chunked")
	valueClose           = []byte("close")
	valueKeepAlive       = []byte("keep-alive")
	comma                = []byte(",")
)
