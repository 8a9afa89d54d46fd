package token

// wellFormed says that text is three parts of base64url (RFC 4648 section 5) without padding, each the only
// way to write its bytes. Decoders that are less strict take several texts for one token.
func wellFormed(text []byte) bool {
	parts, length, last := 1, 0, byte(0)
	for _, c := range text {
		if c != '.' {
			if sextets[c] == noSextet {
				return false
			}
			length++
			last = c
			continue
		}
		if parts++; parts > 3 || !wholePart(length, last) {
			return false
		}
		length = 0
	}
	return parts == 3 && wholePart(length, last)
}

// wholePart says that a part of base64url of this length, with this last character, ends on a whole byte
// and leaves the bits beyond it zero.
func wholePart(length int, last byte) bool {
	switch length % 4 {
	case 0:
		return length > 0
	case 2:
		return sextets[last]&0x0f == 0
	case 3:
		return sextets[last]&0x03 == 0
	default:
		return false
	}
}

const noSextet = 0xff

// sextets are the values of the characters of base64url.
var sextets = func() (table [256]byte) {
	for i := range table {
		table[i] = noSextet
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range len(alphabet) {
		table[alphabet[i]] = byte(i)
	}
	return table
}()
