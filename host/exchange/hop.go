package exchange

import "bytes"

// RemoveHopByHop deletes the fields that belong to one connection and not to the message: those of RFC 9110
// section 7.6.1 and those that a Connection field names. Called before the filters run, it keeps a client
// from stripping what they set. A name that the message cannot do without stays, whatever Connection says:
// "Connection: X-Forwarded-For" must not hide an address, nor "Connection: Authorization" an identity.
func (h *Header) RemoveHopByHop() {
	var room [8][]byte
	named := h.connectionOptions(room[:0])
	kept := h.Fields[:0]
	for _, f := range h.Fields {
		if hopByHop(f.Name) || contains(named, f.Name) && !endToEnd(f.Name) {
			continue
		}
		kept = append(kept, f)
	}
	clear(h.Fields[len(kept):])
	h.Fields = kept
}

// connectionOptions appends the names that Connection fields list. They point into the fields' values.
func (h *Header) connectionOptions(names [][]byte) [][]byte {
	for _, f := range h.Fields {
		if len(f.Name) != len(connection) || !bytes.EqualFold(f.Name, connection) {
			continue
		}
		for rest := f.Value; len(rest) > 0; {
			var option []byte
			option, rest, _ = bytes.Cut(rest, comma)
			if option = bytes.Trim(option, " \t"); len(option) > 0 {
				names = append(names, option)
			}
		}
	}
	return names
}

func contains(names [][]byte, name []byte) bool {
	for _, n := range names {
		if len(n) == len(name) && bytes.EqualFold(n, name) {
			return true
		}
	}
	return false
}

var (
	connection = []byte("Connection")
	comma      = []byte(",")
)

// hopByHop says whether a field ends at the next hop. Proxy is not a field at all, but CGI programs read
// it as the variable HTTP_PROXY.
func hopByHop(name []byte) bool {
	switch len(name) {
	case 2:
		return is(name, "te")
	case 5:
		return is(name, "proxy")
	case 7:
		return is(name, "upgrade")
	case 10:
		return is(name, "connection") || is(name, "keep-alive")
	case 14:
		return is(name, "http2-settings")
	case 17:
		if is(name, "transfer-encoding") {
			return true
		}
	}
	return len(name) > len("proxy-") && is(name[:len("proxy-")], "proxy-")
}

// endToEnd says whether a field is for all recipients, so that naming it in Connection is a mistake or an
// attack.
func endToEnd(name []byte) bool {
	for _, n := range []string{
		"host", "content-length", "content-type", "content-encoding", "cache-control", "date", "trailer", "via",
		"authorization", "cookie", "set-cookie", "forwarded", "x-request-id", "idempotency-key",
	} {
		if len(n) == len(name) && is(name, n) {
			return true
		}
	}
	return len(name) > len("x-forwarded-") && is(name[:len("x-forwarded-")], "x-forwarded-")
}

// is compares a field name with one of the same length in lower case. Only letters differ by the bit that
// it sets among the characters that a name may have.
func is(name []byte, lower string) bool {
	for i := range len(lower) {
		if name[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
