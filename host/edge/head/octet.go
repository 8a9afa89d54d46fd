package head

// The classes of octets, a bit each.
const (
	inName   = 1 << iota // of a field name: a token of RFC 9110 section 5.6.2
	inValue              // of a field value: visible, space, tab and above ASCII
	inTarget             // of a request target: visible and above ASCII, but no fragment's mark
	inHost               // of a host name
)

var octets = func() (class [256]byte) {
	for c := range class {
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if alphanumeric {
			class[c] |= inName | inHost
		}
		if c > ' ' && c != 0x7f {
			class[c] |= inValue | inTarget
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		class[c] |= inName
	}
	for _, c := range []byte("-._~") {
		class[c] |= inHost
	}
	class[' '] |= inValue
	class['\t'] |= inValue
	class['#'] &^= inTarget
	return class
}()

func allOf(b []byte, class byte) bool {
	for _, c := range b {
		if octets[c]&class == 0 {
			return false
		}
	}
	return true
}
