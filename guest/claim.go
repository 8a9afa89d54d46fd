package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// claimPrefix begins the property that a filter leaves for each verified claim.
const claimPrefix = "claim."

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
	at := len(property) - len(name) - len(claimPrefix)
	return at > 0 && property[at-1] == '/' &&
		string(property[at:at+len(claimPrefix)]) == claimPrefix && string(property[at+len(claimPrefix):]) == name
}
