package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	strict "github.com/go-jose/go-jose/v4/json"

	"github.com/porchedge/porch/abi"
)

// claimReader reads the payload of a token: every claim into a list of records, and the registered ones
// (RFC 7519 section 4.1) by themselves.
type claimReader struct {
	list []byte

	issuer                  string
	hasIssuer, hasNotBefore bool
	audience                []string
	expires, notBefore      time.Time
}

// read is false where the payload is not a mapping, a name stands twice in it, a registered claim has
// another type than RFC 7519 gives it, or it never expires.
func (c *claimReader) read(payload []byte) bool {
	// Both readers must agree on what the text means; the strict one refuses names that stand twice, at any
	// depth, and this one keeps order and numbers.
	var mapping map[string]any
	if !utf8.Valid(payload) || strict.Unmarshal(payload, &mapping) != nil || mapping == nil {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if _, err := d.Token(); err != nil {
		return false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if !whole(name.(string)) || d.Decode(&value) != nil || !c.claim(name.(string), value) {
			return false
		}
	}
	if _, err := d.Token(); err != nil {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF) && !c.expires.IsZero()
}

// claim takes one claim. null counts as not there.
func (c *claimReader) claim(name string, value json.RawMessage) bool {
	record := abi.Claim{Kind: abi.ClaimJSON, Name: []byte(name), Value: value}
	switch value[0] {
	case 'n':
		return true
	case '"':
		text, ok := decodeText(value)
		if !ok {
			return false
		}
		record.Kind, record.Value = abi.ClaimText, []byte(text)
	case 't', 'f':
		record.Kind = abi.ClaimBool
	case '{', '[':
	default:
		record.Kind = abi.ClaimNumber
	}
	if !c.registered(name, &record) {
		return false
	}
	c.list = abi.AppendClaim(c.list, record)
	return true
}

// registered takes what decides whether the token is good, and checks its type.
func (c *claimReader) registered(name string, r *abi.Claim) (valid bool) {
	switch name {
	case "iss":
		c.issuer, c.hasIssuer = string(r.Value), true
		return r.Kind == abi.ClaimText
	case "sub", "jti":
		return r.Kind == abi.ClaimText
	case "aud":
		if r.Kind == abi.ClaimText {
			c.audience = []string{string(r.Value)}
			return true
		}
		var several []*string
		if json.Unmarshal(r.Value, &several) != nil {
			return false
		}
		for _, one := range several {
			if one == nil {
				return false
			}
			c.audience = append(c.audience, *one)
		}
		return true
	case "exp":
		c.expires, valid = numericDate(r)
		return valid
	case "nbf":
		c.hasNotBefore = true
		c.notBefore, valid = numericDate(r)
		return valid
	case "iat":
		_, valid = numericDate(r)
		return valid
	default:
		return true
	}
}

// lastDate is the end of the year 9999 in seconds.
const lastDate = 253402300799

// numericDate reads seconds since 1970, with a fraction or without.
func numericDate(r *abi.Claim) (time.Time, bool) {
	if r.Kind != abi.ClaimNumber {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseFloat(string(r.Value), 64)
	if err != nil || seconds < 0 || seconds > lastDate {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), true
}

// decodeText reads a JSON string.
func decodeText(value json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(value, &text) != nil {
		return "", false
	}
	return text, whole(text)
}

// whole says that nothing of a text was lost when it was decoded: half a surrogate pair becomes the
// replacement character, and two identities would become one.
func whole(text string) bool { return !strings.ContainsRune(text, utf8.RuneError) }
