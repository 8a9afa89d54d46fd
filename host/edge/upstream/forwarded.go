package upstream

import (
	"net/netip"

	"github.com/porchedge/porch/host/exchange"
)

// appendForwarded appends what Porch says about where the request came from: X-Forwarded-For, -Host and
// -Proto, Forwarded (RFC 7239), and Via. Each is one line. A trusted proxy's lists are continued, anybody
// else's are replaced; Via traces the way of the message and is always continued.
func appendForwarded(dst []byte, x *exchange.Exchange, seen []bool) []byte {
	r := &x.Request
	for kind := forwardedFor; kind < fieldKinds; kind++ {
		dst = append(dst, listNames[kind]...)
		dst = append(dst, ": "...)
		if seen[kind] && (x.PeerTrusted || kind == via) {
			dst = appendList(dst, &r.Header, kind)
		}
		switch kind {
		case forwardedFor:
			dst = appendAddress(dst, x.Peer)
		case forwardedHost:
			dst = append(dst, r.Authority...)
		case forwardedProto:
			dst = append(dst, r.Scheme...)
		case forwarded:
			dst = appendElement(dst, x)
		case via:
			dst = append(dst, "1.1 porch"...)
		}
		dst = append(dst, "\r\n"...)
	}
	if seen[spoofable] && x.PeerTrusted {
		for _, f := range r.Header.Fields {
			if kindOf(f.Name) == spoofable && isToken(f.Name) && clean(f.Value) {
				dst = appendField(dst, f.Name, f.Value)
			}
		}
	}
	return dst
}

var listNames = [fieldKinds]string{
	forwardedFor:   "X-Forwarded-For",
	forwardedHost:  "X-Forwarded-Host",
	forwardedProto: "X-Forwarded-Proto",
	forwarded:      "Forwarded",
	via:            "Via",
}

// appendList joins the lines of one list, with a comma after each.
func appendList(dst []byte, h *exchange.Header, kind fieldKind) []byte {
	for _, f := range h.Fields {
		if kindOf(f.Name) == kind && len(f.Value) > 0 && clean(f.Value) {
			dst = append(dst, f.Value...)
			dst = append(dst, ", "...)
		}
	}
	return dst
}

func appendAddress(dst []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(dst, "unknown"...)
	}
	return a.Unmap().WithZone("").AppendTo(dst)
}

// appendElement appends this hop's element of Forwarded. An IPv6 address stands in brackets, and what is
// not a token in quotes.
func appendElement(dst []byte, x *exchange.Exchange) []byte {
	dst = append(dst, "for="...)
	if a := x.Peer.Unmap(); a.Is6() {
		dst = append(dst, `"[`...)
		dst = appendAddress(dst, a)
		dst = append(dst, `]"`...)
	} else {
		dst = appendAddress(dst, a)
	}
	if host := x.Request.Authority; isToken(host) {
		dst = append(dst, ";host="...)
		dst = append(dst, host...)
	} else if len(host) > 0 {
		dst = append(dst, `;host="`...)
		for _, c := range host {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
	}
	dst = append(dst, ";proto="...)
	return append(dst, x.Request.Scheme...)
}
