package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// ClaimPrefix begins the property that a filter leaves for each verified claim.
const ClaimPrefix = "claim."

// SetClaim leaves a verified claim for the filters after this one, which read it by Claim. Its name has at
// most 122 visible ASCII characters and no slash.
func (*Exchange) SetClaim(name, value []byte) error {
	claimName = append(append(claimName[:0], ClaimPrefix...), name...)
	return condition(host.Set(abi.FieldProperty, host.View(claimName), value))
}

var claimName []byte

// Claim returns a verified claim: the value of the property "claim.NAME" of the filter that verified the
// token, whatever the operator called it. Only filters set properties, so no client can forge one. ok is
// false where there is none, where it is empty, and where two filters left one, since then nobody can say
// which is meant.
func (*Exchange) Claim(name string) (value []byte, ok bool) {
	var full []byte
	names := list(abi.FieldProperty, "")
	for entry, more := names.Next(); more; entry, more = names.Next() {
		if !isClaim(entry, name) {
			continue
		}
		if full != nil {
			return nil, false
		}
		full = entry
	}
	if full == nil {
		return nil, false
	}
	value, ok = read(abi.FieldProperty, host.View(full))
	return value, ok && len(value) > 0
}

// isClaim says whether a property "<filter>/<name>" is that of the claim. Neither part has a slash.
func isClaim(property []byte, name string) bool {
	at := len(property) - len(name) - len(ClaimPrefix)
	return at > 0 && property[at-1] == '/' &&
		string(property[at:at+len(ClaimPrefix)]) == ClaimPrefix && string(property[at+len(ClaimPrefix):]) == name
}
