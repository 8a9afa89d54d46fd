package main

import (
	"bytes"

	"github.com/porchedge/porch/guest"
)

const longestKey = 255 // bytes

// Why there is no key. All of them are answered 400.
var (
	noKey     = malformed("this request needs an idempotency key")
	repeated  = malformed("the idempotency key stands there more than once")
	empty     = malformed("the idempotency key is empty")
	long      = malformed("the idempotency key has more than 255 bytes")
	unprinted = malformed("the idempotency key has characters that are not printable ASCII")
	unquoted  = malformed("the idempotency key is a broken quoted string")
	several   = malformed("the idempotency key is a list; put a key with a comma in quotes")
	trailed   = malformed("what follows the idempotency key is not a parameter")
)

func malformed(detail string) *guest.Problem {
	return &guest.Problem{Status: 400, Title: "Bad Request", Detail: detail}
}

// parseKey reads the value of the field: a string of structured fields (RFC 9651), "k", or bare as many
// clients send it, k. Both are the same key, and parameters behind it are ignored. A bare key ends at a
// semicolon and has no comma: proxies join repeated field lines with commas, which would make a new key of
// two. The result lies in value, which is not kept as it was.
func parseKey(value []byte) ([]byte, *guest.Problem) {
	value = bytes.Trim(value, " \t")
	for _, c := range value {
		if c < ' ' || c > '~' {
			return nil, unprinted
		}
	}
	var key, rest []byte
	var wrong *guest.Problem
	if len(value) > 0 && value[0] == '"' {
		key, rest, wrong = quoted(value)
	} else {
		key, rest, wrong = bare(value)
	}
	switch {
	case wrong != nil:
		return nil, wrong
	case len(key) == 0:
		return nil, empty
	case len(key) > longestKey:
		return nil, long
	case !parameters(rest):
		return nil, trailed
	}
	return key, nil
}

// quoted takes a string in quotes; a backslash stands before a quote or another backslash only. It removes
// them in place.
func quoted(value []byte) (key, rest []byte, wrong *guest.Problem) {
	key = value[:0]
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '"':
			return key, value[i+1:], nil
		case '\\':
			i++
			if i == len(value) || value[i] != '"' && value[i] != '\\' {
				return nil, nil, unquoted
			}
		}
		key = append(key, value[i])
	}
	return nil, nil, unquoted
}

func bare(value []byte) (key, rest []byte, wrong *guest.Problem) {
	key = value
	if i := bytes.IndexByte(value, ';'); i >= 0 {
		key, rest = value[:i], value[i:]
	}
	switch {
	case bytes.IndexByte(key, '"') >= 0:
		return nil, nil, unquoted
	case bytes.IndexByte(key, ',') >= 0:
		return nil, nil, several
	}
	return key, rest, nil
}

// parameters says whether b can be parameters. A comma would begin another key.
func parameters(b []byte) bool {
	return len(b) == 0 || b[0] == ';' && bytes.IndexByte(b, ',') < 0
}
