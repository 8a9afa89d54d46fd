package guest

import (
	"strings"

	"github.com/porchedge/porch/abi"
)

// Rules for Text.Check and Texts.Check.

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// tokens are the characters of a token (RFC 9110 section 5.6.2).
	tokens = letters + "!#$%&'*+-.^_`|~"
	// names are the characters of a policy's name.
	names = letters + "._-"
)

// HeaderName says what is wrong with the name of a header.
func HeaderName(s string) (wrong string) {
	if s == "" || len(s) > abi.MaxFieldName || !consistsOf(s, tokens) {
		return "must be the name of a header, not " + quote(s)
	}
	return ""
}

// Method says what is wrong with the name of a method.
func Method(s string) (wrong string) {
	if s == "" || len(s) > abi.MaxFieldName || !consistsOf(s, tokens) || strings.ToUpper(s) != s {
		return "must be a method, in capitals"
	}
	return ""
}

// PolicyName says what is wrong with the name of a policy.
func PolicyName(s string) (wrong string) {
	if s == "" || len(s) > abi.MaxPolicyName || !consistsOf(s, names) {
		return "must be 1 to 64 of the characters A-Z a-z 0-9 . _ -, not " + quote(s)
	}
	return ""
}

func consistsOf(s, characters string) bool {
	for i := range len(s) {
		if strings.IndexByte(characters, s[i]) < 0 {
			return false
		}
	}
	return true
}
