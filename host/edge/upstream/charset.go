package upstream

// tokenChars are the characters of methods and field names: tchar in RFC 9110 section 5.6.2.
var tokenChars = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

// isToken says whether text is a token.
func isToken[T string | []byte](text T) bool {
	for i := range len(text) {
		if !tokenChars[text[i]] {
			return false
		}
	}
	return len(text) > 0
}

// clean says whether a field's value has no control characters but tabs.
func clean(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
