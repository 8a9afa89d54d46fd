package head

import (
	"bytes"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/porchedge/porch/host/exchange"
)

// target takes the request target apart: origin form, absolute form, or the asterisk of OPTIONS. r has the
// authority that Host named, nil if there was none.
func (h Head) target(r *exchange.Request) error {
	if r.Authority != nil {
		if err := checkAuthority(r.Authority); err != nil {
			return err
		}
	}
	t := h.Target
	switch {
	case bytes.IndexByte(t, '#') >= 0:
		return errFragment
	case len(t) == 0 || !allOf(t, inTarget):
		return errTarget
	case t[0] == '/':
		splitTarget(r, t)
		return nil
	case len(t) == 1 && t[0] == '*':
		if r.Method != http.MethodOptions {
			return errTarget
		}
		r.Path = t
		return nil
	}
	return h.absolute(r)
}

const scheme = "http://"

// absolute takes a target that names the host itself. It must be the one that Host names: the rule that
// the target wins is not known to everyone who may read the request after us.
func (h Head) absolute(r *exchange.Request) error {
	t := h.Target
	if len(t) < len(scheme) || !is(t[:len(scheme)], scheme) {
		return errTarget
	}
	t = t[len(scheme):]
	end := bytes.IndexAny(t, "/?")
	if end < 0 {
		end = len(t)
	}
	authority, rest := t[:end:end], t[end:]
	if err := checkAuthority(authority); err != nil {
		return err
	}
	if r.Authority != nil && !bytes.EqualFold(r.Authority, authority) {
		return errTwoAuthorities
	}
	r.Authority = authority
	switch {
	case len(rest) == 0 && r.Method == http.MethodOptions:
		r.Path = []byte{'*'}
	case len(rest) == 0:
		r.Path = []byte{'/'}
	case rest[0] == '?':
		r.Path, r.Query, r.HasQuery = []byte{'/'}, rest[1:], true
	default:
		splitTarget(r, rest)
	}
	return nil
}

// splitTarget parts path and query at the first mark.
func splitTarget(r *exchange.Request, t []byte) {
	mark := bytes.IndexByte(t, '?')
	if mark < 0 {
		r.Path = t
		return
	}
	r.Path, r.Query, r.HasQuery = t[:mark:mark], t[mark+1:], true
}

// checkAuthority takes a host name or address, and a port. Percent signs and the delimiters that the
// grammar would allow in a name are refused: no real name has them, and readers differ on them.
func checkAuthority(b []byte) error {
	if bytes.IndexByte(b, '@') >= 0 {
		return errUserInfo
	}
	host, port := b, []byte(nil)
	if len(b) > 0 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 {
			return errAuthority
		}
		addr, err := netip.ParseAddr(string(b[1:end]))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return errAuthority
		}
		if port = b[end+1:]; len(port) > 0 && port[0] != ':' {
			return errAuthority
		}
	} else {
		if colon := bytes.IndexByte(b, ':'); colon >= 0 {
			host, port = b[:colon], b[colon:]
		}
		if len(host) == 0 || !allOf(host, inHost) {
			return errAuthority
		}
	}
	if len(port) > 0 && !isPort(port[1:]) {
		return errAuthority
	}
	return nil
}

func isPort(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	n, err := strconv.ParseUint(string(b), 10, 16)
	return err == nil && n > 0
}
