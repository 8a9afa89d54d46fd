// Package peer tells who a request comes from: the address at the other end of the connection, and the
// client behind proxies that are declared as trusted. host/edge calls it for each request.
package peer

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/porchedge/porch/host/exchange"
)

// Address is the peer's address, an IPv4 address also where it came mapped into IPv6, without zone; the
// invalid Addr where the connection has none.
func Address(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return canonical(tcp.AddrPort().Addr())
}

func canonical(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// Proxies are the networks whose word on X-Forwarded-For counts.
type Proxies []netip.Prefix

// Trust says whether a is a trusted proxy.
func (p Proxies) Trust(a netip.Addr) bool {
	for _, n := range p {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Client is the address of the client behind the proxies that are trusted, and whether the peer is one.
// All lines of X-Forwarded-For are one list. It is read from its right end, since each proxy appends the
// address that it saw; the first address that is no trusted proxy is the client, whatever stands left of
// it. An entry that is no plain address (a name, "unknown", a zone) ends the walk at the proxy that wrote
// it: the last address that is sure. Where every address is a trusted proxy, the leftmost is the client.
func (p Proxies) Client(peer netip.Addr, header *exchange.Header) (client netip.Addr, trusted bool) {
	if !p.Trust(peer) {
		return peer, false
	}
	sure := peer
	for i := len(header.Fields) - 1; i >= 0; i-- {
		f := &header.Fields[i]
		if !bytes.EqualFold(f.Name, forwardedFor) {
			continue
		}
		for list := f.Value; len(list) > 0; {
			var entry []byte
			list, entry = cutLast(list)
			if len(entry) == 0 {
				continue
			}
			hop, ok := parse(entry)
			if !ok {
				return sure, true
			}
			if !p.Trust(hop) {
				return hop, true
			}
			sure = hop
		}
	}
	return sure, true
}

var forwardedFor = []byte("X-Forwarded-For")

// cutLast takes the last entry off a list.
func cutLast(list []byte) (rest, entry []byte) {
	comma := bytes.LastIndexByte(list, ',')
	return list[:max(0, comma)], bytes.Trim(list[comma+1:], " \t")
}

// maxEntry is longer than any address with brackets and port, in bytes.
const maxEntry = 64

// parse reads an address with or without port.
func parse(entry []byte) (netip.Addr, bool) {
	if len(entry) > maxEntry {
		return netip.Addr{}, false
	}
	text := string(entry)
	var addr netip.Addr
	var err error
	switch {
	case text[0] == '[' && text[len(text)-1] == ']':
		addr, err = netip.ParseAddr(text[1 : len(text)-1])
		if err == nil && !addr.Is6() {
			return netip.Addr{}, false
		}
	case text[0] == '[' || bytes.Count(entry, []byte{':'}) == 1:
		var both netip.AddrPort
		both, err = netip.ParseAddrPort(text)
		addr = both.Addr()
	default:
		addr, err = netip.ParseAddr(text)
	}
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return canonical(addr), true
}
