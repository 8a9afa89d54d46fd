package guest

import (
	"net/netip"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Exchange is what a filter can read in both phases, and its properties.
type Exchange struct {
	failure bool
}

// Method returns the method as the client sent it.
func (*Exchange) Method() []byte { return always(abi.FieldMethod) }

// Scheme returns "http" or "https".
func (*Exchange) Scheme() []byte { return always(abi.FieldScheme) }

// Authority returns host and port as the client named them.
func (*Exchange) Authority() []byte { return always(abi.FieldAuthority) }

// Path returns the path byte for byte as it goes upstream, without the query. Do not count or route by
// it: one resource has many spellings. RoutePath and Route have one.
func (*Exchange) Path() []byte { return always(abi.FieldPath) }

// Query returns what follows the question mark; ok is false where there is no mark.
func (*Exchange) Query() (query []byte, ok bool) { return read(abi.FieldQuery, "") }

// RoutePath returns the canonical path: decoded, dot segments removed, slashes merged.
func (*Exchange) RoutePath() []byte { return always(abi.FieldRoutePath) }

// Header returns the value of the first line of a request header.
func (*Exchange) Header(name string) (value []byte, ok bool) {
	return read(abi.FieldRequestHeader, name)
}

// HeaderValues returns the values of all lines of a request header.
func (*Exchange) HeaderValues(name string) List { return list(abi.FieldRequestHeader, name) }

// HeaderNames returns the names in the request header, each once.
func (*Exchange) HeaderNames() List { return list(abi.FieldRequestHeader, "") }

// Peer returns the IP address at the other end of the connection, which cannot be forged: canonical text,
// without port and zone, an IPv4 address never in the form of an IPv6 one.
func (*Exchange) Peer() []byte { return always(abi.FieldPeer) }

// Client returns the IP address of the client behind declared trusted proxies; the peer's where there are
// none. Its form is that of Peer.
func (*Exchange) Client() []byte { return always(abi.FieldClient) }

// ParseAddr reads the text of an IP address, such as Peer and Client return, without allocating.
func ParseAddr(text []byte) (addr netip.Addr, ok bool) {
	addr, err := netip.ParseAddr(host.View(text))
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, false // the error, and a zone, would hold on to text
	}
	return addr, true
}

// RequestID returns the id that host and upstream know this request by.
func (*Exchange) RequestID() []byte { return always(abi.FieldRequestID) }

// Route returns the name of the matched route.
func (*Exchange) Route() []byte { return always(abi.FieldRoute) }

// Filter returns the name that this filter was given by the operator.
func (*Exchange) Filter() []byte { return always(abi.FieldFilter) }

// Property returns the property with a full name, "<filter>/<name>".
func (*Exchange) Property(name string) (value []byte, ok bool) {
	return read(abi.FieldProperty, name)
}

// PropertyNames returns the full names of all properties, in the order in which they were first set.
func (*Exchange) PropertyNames() List { return list(abi.FieldProperty, "") }

// SetProperty leaves a value for the other filters of this exchange, under "<this filter>/<name>".
func (*Exchange) SetProperty(name string, value []byte) error {
	return condition(host.Set(abi.FieldProperty, name, value))
}

// RemoveProperty takes away a property of this filter.
func (*Exchange) RemoveProperty(name string) error {
	return condition(host.Remove(abi.FieldProperty, name))
}

// SetResponseHeader leaves one line with this value in the response. While the request is handled it is
// recorded, and applied on the way back or to this filter's own answer.
func (*Exchange) SetResponseHeader(name string, value []byte) error {
	return condition(host.Set(abi.FieldResponseHeader, name, value))
}

// AddResponseHeader appends a line to the response; when, is as for SetResponseHeader.
func (*Exchange) AddResponseHeader(name string, value []byte) error {
	return condition(host.Add(abi.FieldResponseHeader, name, value))
}

// RemoveResponseHeader takes every line of that name from the response; when, is as for
// SetResponseHeader.
func (*Exchange) RemoveResponseHeader(name string) error {
	return condition(host.Remove(abi.FieldResponseHeader, name))
}

// Fail gives up: the filter fails, and the host does with the request what the operator chose for that
// case, by default a 503. The reason goes to the log, never to the client.
func (x *Exchange) Fail(reason string) {
	x.failure = true
	Error(reason)
}

func (x *Exchange) result() int32 {
	if x.failure {
		return failed
	}
	return accepted
}

// always reads a field that every exchange has.
func always(field abi.Field) []byte {
	value, _ := read(field, "")
	return value
}
