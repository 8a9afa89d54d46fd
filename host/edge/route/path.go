package route

import "bytes"

// Canonical is the one spelling of a path: percent signs decoded, once, "." and ".." segments taken out,
// slashes merged. A path that is canonical already is returned as it is, without a copy. ok is false where
// the path does not begin with a slash, or a percent sign is not followed by two hexadecimal digits, or
// hides a zero octet.
func Canonical(path []byte) (canonical []byte, ok bool) {
	if isCanonical(path) {
		return path, true
	}
	if len(path) == 0 || path[0] != '/' {
		return nil, false
	}
	decoded, ok := decode(path)
	if !ok {
		return nil, false
	}
	return clean(decoded), true
}

func isCanonical(path []byte) bool {
	if len(path) == 0 || path[0] != '/' || bytes.IndexByte(path, '%') >= 0 {
		return false
	}
	for i := 0; i+1 < len(path); i++ {
		if path[i] == '/' && (path[i+1] == '/' || path[i+1] == '.') {
			return false
		}
	}
	return true
}

func decode(path []byte) ([]byte, bool) {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) {
				return nil, false
			}
			high, low := nibble(path[i+1]), nibble(path[i+2])
			if high < 0 || low < 0 || high|low == 0 {
				return nil, false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		out = append(out, c)
	}
	return out, true
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// clean works in place: what it writes is never longer than what it has read. A path keeps its slash at
// the end, also where the last segment was dots.
func clean(path []byte) []byte {
	out := path[:0]
	for rest := path; len(rest) > 0; {
		var segment []byte
		slash := bytes.IndexByte(rest, '/')
		last := slash < 0
		if last {
			segment, rest = rest, nil
		} else {
			segment, rest = rest[:slash], rest[slash+1:]
		}
		switch {
		case len(segment) == 0 || string(segment) == ".":
		case string(segment) == "..":
			out = out[:max(0, bytes.LastIndexByte(out, '/'))]
		default:
			out = append(append(out, '/'), segment...)
			if last {
				return out
			}
		}
	}
	return append(out, '/')
}
