package main

import (
	"bytes"
	"errors"
)

const longestKey = 255 // bytes

// Why a key is malformed, as a client is told.
var (
	errRepeated = errors.New("the idempotency key stands there more than once")
	errEmpty    = errors.New("the idempotency key is empty")
	errLong     = errors.New("the idempotency key has more than 255 bytes")
	errBytes    = errors.New("the idempotency key has characters that are not printable ASCII")
	errQuotes   = errors.New("the idempotency key is a broken quoted string")
	errList     = errors.New("the idempotency key is a list; put a key with a comma in quotes")
	errTail     = errors.New("what follows the idempotency key is not a parameter")
)

// parseKey reads the value of the field: a string of structured fields (RFC 9651), "k", or bare as many
// clients send it, k. Both are the same key, and parameters behind it are ignored. A bare key ends at a
// semicolon and has no comma: proxies join repeated field lines with commas, which would make a new key of
// two. The result lies in value, which is not kept as it was.
func parseKey(value []byte) ([]byte, error) {
	value = bytes.Trim(value, " \t")
	for _, c := range value {
		if c < ' ' || c > '~' {
			return nil, errBytes
		}
	}
	var key, rest []byte
	var err error
	if len(value) > 0 && value[0] == '"' {
		key, rest, err = quoted(value)
	} else {
		key, rest, err = bare(value)
	}
	switch {
	case err != nil:
		return nil, err
	case len(key) == 0:
		return nil, errEmpty
	case len(key) > longestKey:
		return nil, errLong
	case !parameters(rest):
		return nil, errTail
	}
	return key, nil
}

// quoted takes a string in quotes; a backslash stands before a quote or another backslash only. It removes
// them in place.
func quoted(value []byte) (key, rest []byte, err error) {
	key = value[:0]
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '"':
			return key, value[i+1:], nil
		case '\\':
			i++
			if i == len(value) || value[i] != '"' && value[i] != '\\' {
				return nil, nil, errQuotes
			}
		}
		key = append(key, value[i])
	}
	return nil, nil, errQuotes
}

func bare(value []byte) (key, rest []byte, err error) {
	key = value
	if i := bytes.IndexByte(value, ';'); i >= 0 {
		key, rest = value[:i], value[i:]
	}
	switch {
	case bytes.IndexByte(key, '"') >= 0:
		return nil, nil, errQuotes
	case bytes.IndexByte(key, ',') >= 0:
		return nil, nil, errList
	}
	return key, rest, nil
}

// parameters says whether b can be parameters. A comma would begin another key.
func parameters(b []byte) bool {
	return len(b) == 0 || b[0] == ';' && bytes.IndexByte(b, ',') < 0
}
