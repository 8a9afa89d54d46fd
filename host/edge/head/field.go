package head

import (
	"bytes"
	"strconv"

	"github.com/porchedge/porch/host/exchange"
)

// fields are the field lines of one head, and what is remembered of those that frame the message.
type fields struct {
	left int // lines still allowed

	host, length, coding, mediaType []byte
	hosts, lengths, codings, types  int
	expects, continues              bool
}

// read cuts the lines into header and looks at each.
func (f *fields) read(lines []byte, header *exchange.Header) error {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		if end < 1 || lines[end-1] != '\r' {
			return errLine
		}
		line, rest := lines[:end-1], lines[end+1:]
		if len(line) == 0 {
			if len(rest) > 0 {
				return errLine
			}
			return nil
		}
		if line[0] == ' ' || line[0] == '\t' {
			return errFold
		}
		if f.left--; f.left < 0 {
			return errTooManyFields
		}
		name, value, ok := cutField(line)
		if !ok {
			return errName
		}
		if !allOf(value, inValue) {
			return errValue
		}
		keep, err := f.note(name, value)
		if err != nil {
			return err
		}
		if keep {
			header.Add(name, value)
		}
		lines = rest
	}
	return nil
}

// cutField parts a line at its colon. No space may stand before it.
func cutField(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !allOf(line[:colon], inName) {
		return nil, nil, false
	}
	return line[:colon:colon], bytes.Trim(line[colon+1:], " \t"), true
}

// note remembers a field that frames or addresses the message. keep is false for one that ends here.
func (f *fields) note(name, value []byte) (keep bool, err error) {
	switch len(name) {
	case len("Host"):
		if is(name, "Host") {
			f.hosts++
			f.host = value
		}
	case len("Expect"):
		if is(name, "Expect") {
			f.continues = (!f.expects || f.continues) && is(value, "100-continue")
			f.expects = true
			return false, nil
		}
	case len("Content-Type"):
		if is(name, "Content-Type") {
			f.types++
			f.mediaType = value
		}
	case len("Content-Length"):
		if is(name, "Content-Length") {
			f.lengths++
			f.length = value
		}
	case len("Transfer-Encoding"):
		if is(name, "Transfer-Encoding") {
			f.codings++
			f.coding = value
		}
	}
	if bytes.IndexByte(name, '_') >= 0 && shadows(name) {
		return false, errShadow
	}
	return true, nil
}

// framing is the length of the body that the fields announce: 0 for none, -1 for chunked.
func (f *fields) framing(modern bool, limit int64) (int64, error) {
	switch {
	case f.codings > 0 && f.lengths > 0:
		return 0, errTwoFramings
	case f.codings > 0:
		if f.codings > 1 || !modern || !is(f.coding, "chunked") {
			return 0, errCoding
		}
		return -1, nil
	case f.lengths > 1:
		return 0, errLength
	case f.lengths == 1:
		return parseLength(f.length, limit)
	}
	return 0, nil
}

// parseLength takes digits alone: no sign, no list, no space.
func parseLength(b []byte, limit int64) (int64, error) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, errLength
		}
	}
	if len(b) == 0 {
		return 0, errLength
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n > limit {
		return 0, errBodyTooLarge
	}
	return n, nil
}

// shadowed are fields whose meaning an upstream must not get from a look-alike: many turn "-" into "_"
// before they look a field up.
var shadowed = map[string]bool{
	"connection": true, "content-length": true, "content-type": true, "expect": true, "forwarded": true,
	"host": true, "keep-alive": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"proxy-connection": true, "x-forwarded-for": true, "x-forwarded-host": true, "x-forwarded-port": true,
	"x-forwarded-proto": true, "x-real-ip": true, "x-request-id": true,
}

const longestShadowed = len("transfer-encoding")

func shadows(name []byte) bool {
	if len(name) > longestShadowed {
		return false
	}
	var low [longestShadowed]byte
	for i, c := range bytes.ToLower(name) {
		if c == '_' {
			c = '-'
		}
		low[i] = c
	}
	return shadowed[string(low[:len(name)])]
}

func is(b []byte, word string) bool {
	return len(b) == len(word) && bytes.EqualFold(b, []byte(word))
}
