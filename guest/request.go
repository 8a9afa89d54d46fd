package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Request is a request on its way forward. A handler that returns without Respond or Fail lets it go on.
type Request struct {
	Exchange
}

// SetAuthority changes the authority for the filters after this one and the upstream.
func (*Request) SetAuthority(authority []byte) error {
	return condition(host.Set(abi.FieldAuthority, "", authority))
}

// SetPath changes the path that goes upstream. It chooses no other route.
func (*Request) SetPath(path []byte) error {
	return condition(host.Set(abi.FieldPath, "", path))
}

// SetQuery changes the query that goes upstream.
func (*Request) SetQuery(query []byte) error {
	return condition(host.Set(abi.FieldQuery, "", query))
}

// RemoveQuery takes away the query and its mark.
func (*Request) RemoveQuery() error { return condition(host.Remove(abi.FieldQuery, "")) }

// SetHeader leaves one line with this value in the request header.
func (*Request) SetHeader(name string, value []byte) error {
	return condition(host.Set(abi.FieldRequestHeader, name, value))
}

// AddHeader appends a line to the request header.
func (*Request) AddHeader(name string, value []byte) error {
	return condition(host.Add(abi.FieldRequestHeader, name, value))
}

// RemoveHeader takes every line of that name from the request header.
func (*Request) RemoveHeader(name string) error {
	return condition(host.Remove(abi.FieldRequestHeader, name))
}

// SetBody sets the body of this filter's own answer, at most abi.MaxResponseBody bytes.
func (*Request) SetBody(body []byte) error {
	return condition(host.Set(abi.FieldResponseBody, "", body))
}

// Respond answers the request with a status from 200 to 599, with the response header and body that were
// set until now. The request stops here: return after it.
func (*Request) Respond(status int) error { return condition(host.Respond(int32(status))) }
