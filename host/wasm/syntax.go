package wasm

import (
	"bytes"

	"github.com/porchedge/porch/abi"
)

const (
	maxTarget     = 8 << 10 // bytes of an authority, path or query that a filter sets
	maxHeaderOps  = 256     // header operations of one call
	smallestFinal = 200     // statuses that end an exchange
	largestStatus = 599
)

// ok is the condition of what may be done.
const ok abi.Condition = 0

// tokenBytes marks the bytes of a token (RFC 9110 section 5.6.2).
var tokenBytes = func() (table [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		table[c] = true
	}
	return table
}()

func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenBytes[c] {
			return false
		}
	}
	return len(b) > 0
}

// isVisible says that b holds visible ASCII characters alone, and none of those that are barred.
func isVisible(b []byte, barred string) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return !bytes.ContainsAny(b, barred)
}

// hostOwned are the fields that frame a message or belong to one connection: the host's alone to write.
var hostOwned = [][]byte{
	[]byte("Connection"), []byte("Keep-Alive"), []byte("Proxy-Connection"), []byte("TE"), []byte("Trailer"),
	[]byte("Transfer-Encoding"), []byte("Upgrade"), []byte("Content-Length"), []byte("Host"),
}

// checkHeaderName says whether a filter may write fields of that name.
func checkHeaderName(name []byte) abi.Condition {
	if len(name) > abi.MaxFieldName {
		return abi.TooLarge
	}
	if !isToken(name) {
		return abi.Invalid
	}
	for _, owned := range hostOwned {
		if bytes.EqualFold(owned, name) {
			return abi.Denied
		}
	}
	return ok
}

// checkHeaderValue keeps a value from ending its line.
func checkHeaderValue(value []byte) abi.Condition {
	if len(value) > abi.MaxFieldValue {
		return abi.TooLarge
	}
	if bytes.ContainsAny(value, "\r\n\x00") {
		return abi.Invalid
	}
	return ok
}

func checkTarget(field abi.Field, value []byte) abi.Condition {
	if len(value) > maxTarget {
		return abi.TooLarge
	}
	valid := false
	switch field {
	case abi.FieldPath:
		valid = len(value) > 0 && value[0] == '/' && isVisible(value, "?#")
	case abi.FieldQuery:
		valid = isVisible(value, "#")
	case abi.FieldAuthority:
		valid = len(value) > 0 && isVisible(value, "/?#@")
	}
	if !valid {
		return abi.Invalid
	}
	return ok
}

func checkPropertyName(name []byte) abi.Condition {
	if len(name) > abi.MaxPropertyName {
		return abi.TooLarge
	}
	if !isVisible(name, "/") {
		return abi.Invalid
	}
	return ok
}

// isPolicyName says that b holds letters, digits and . _ - alone.
func isPolicyName(b []byte) bool {
	for _, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return len(b) > 0
}

// parseStatus reads a final status of three digits.
func parseStatus(b []byte) (int, bool) {
	if len(b) != 3 {
		return 0, false
	}
	status := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		status = status*10 + int(c-'0')
	}
	return status, isFinal(status)
}

func isFinal(status int) bool { return status >= smallestFinal && status <= largestStatus }
