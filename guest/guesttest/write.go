package guesttest

import (
	"strconv"
	"strings"

	"github.com/porchedge/porch/abi"
)

// Set implements the host function.
func (h *Host) Set(field abi.Field, name string, value []byte) int32 {
	return int32(h.write("set", field, name, string(value)))
}

// Add implements the host function.
func (h *Host) Add(field abi.Field, name string, value []byte) int32 {
	return int32(h.write("add", field, name, string(value)))
}

// Remove implements the host function.
func (h *Host) Remove(field abi.Field, name string) int32 {
	return int32(h.write("remove", field, name, ""))
}

// Respond implements the host function.
func (h *Host) Respond(status int32) int32 {
	if h.phase != phaseRequest {
		return int32(abi.WrongPhase)
	}
	if status < abi.MinStatus || status > abi.MaxStatus {
		return int32(abi.Invalid)
	}
	h.exchange.Status = int(status)
	h.phase = phaseAnswered
	return 0
}

func (h *Host) write(verb string, field abi.Field, name, value string) abi.Condition {
	if h.phase != phaseRequest && h.phase != phaseResponse {
		return abi.WrongPhase
	}
	forward, x := h.phase == phaseRequest, h.exchange
	switch field {
	case abi.FieldAuthority, abi.FieldPath, abi.FieldQuery:
		if !forward {
			return abi.WrongPhase
		}
		return x.writeTarget(verb, field, value)
	case abi.FieldRequestHeader:
		if !forward {
			return abi.WrongPhase
		}
		return x.writeHeader(verb, name, value, func(op Op) bool { return op.apply(&x.Request.Header) })
	case abi.FieldResponseHeader:
		return x.writeHeader(verb, name, value, func(op Op) bool {
			if forward {
				x.Recorded = append(x.Recorded, op)
				return true
			}
			return op.apply(&x.Response.Header)
		})
	case abi.FieldProperty:
		return h.writeProperty(verb, name, value)
	case abi.FieldResponseStatus:
		return x.writeStatus(forward, verb, value)
	case abi.FieldResponseBody:
		return x.writeBody(forward, verb, value)
	case abi.FieldRequestBody:
		return abi.Invalid
	}
	if field < abi.FieldMethod || field > abi.FieldBodyHash {
		return abi.Invalid
	}
	return abi.Denied
}

func (x *Exchange) writeTarget(verb string, field abi.Field, value string) abi.Condition {
	if verb == "add" || verb == "remove" && field != abi.FieldQuery {
		return abi.Invalid
	}
	if len(value) > abi.MaxTarget {
		return abi.TooLarge
	}
	forbidden := map[abi.Field]string{abi.FieldAuthority: "/?#@", abi.FieldPath: "?#", abi.FieldQuery: "#"}[field]
	for _, c := range []byte(value) {
		if c <= ' ' || c > '~' || strings.IndexByte(forbidden, c) >= 0 {
			return abi.Invalid
		}
	}
	path, query, marked := strings.Cut(x.Request.Target, "?")
	switch {
	case field == abi.FieldAuthority && value == "", field == abi.FieldPath && !strings.HasPrefix(value, "/"):
		return abi.Invalid
	case field == abi.FieldAuthority:
		x.Request.Authority = value
		return 0
	case field == abi.FieldPath:
		path = value
	case verb == "set":
		query, marked = value, true
	case !marked:
		return abi.Absent
	default:
		marked = false
	}
	x.Request.Target = path
	if marked {
		x.Request.Target += "?" + query
	}
	return 0
}

// framing are the names that no filter writes.
var framing = []Field{
	{Name: "Connection"}, {Name: "Keep-Alive"}, {Name: "Proxy-Connection"}, {Name: "TE"}, {Name: "Trailer"},
	{Name: "Transfer-Encoding"}, {Name: "Upgrade"}, {Name: "Content-Length"}, {Name: "Host"},
}

func (x *Exchange) writeHeader(verb, name, value string, do func(Op) bool) abi.Condition {
	switch {
	case len(name) > abi.MaxFieldName, len(value) > abi.MaxFieldValue:
		return abi.TooLarge
	case !token(name), strings.ContainsAny(value, "\r\n\x00"):
		return abi.Invalid
	}
	if _, denied := get(framing, name); denied {
		return abi.Denied
	}
	if x.writes == abi.MaxHeaderOps {
		return abi.TooLarge
	}
	if !do(Op{verb, name, value}) {
		return abi.Absent
	}
	x.writes++
	return 0
}

func (h *Host) writeProperty(verb, name, value string) abi.Condition {
	switch {
	case verb == "add", name == "":
		return abi.Invalid
	case len(name) > abi.MaxPropertyName, len(value) > abi.MaxProperty:
		return abi.TooLarge
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' || c == '/' {
			return abi.Invalid
		}
	}
	properties, full := &h.exchange.Properties, h.Filter+"/"+name
	for i := range *properties {
		if (*properties)[i].Name != full {
			continue
		}
		if verb == "remove" {
			*properties = append((*properties)[:i], (*properties)[i+1:]...)
		} else {
			(*properties)[i].Value = value
		}
		return 0
	}
	switch {
	case verb == "remove":
		return abi.Absent
	case len(*properties) == abi.MaxProperties:
		return abi.TooLarge
	}
	*properties = append(*properties, Field{full, value})
	return 0
}

func (x *Exchange) writeStatus(forward bool, verb, value string) abi.Condition {
	if forward {
		return abi.WrongPhase
	}
	n, err := strconv.Atoi(value)
	if verb != "set" || err != nil || len(value) != 3 || n < abi.MinStatus || n > abi.MaxStatus {
		return abi.Invalid
	}
	x.Response.Status = n
	return 0
}

func (x *Exchange) writeBody(forward bool, verb, value string) abi.Condition {
	switch {
	case !forward:
		return abi.WrongPhase
	case verb != "set":
		return abi.Invalid
	case len(value) > abi.MaxResponseBody:
		return abi.TooLarge
	}
	x.Body = value
	return 0
}

func token(name string) bool {
	for _, c := range []byte(name) {
		letter := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}
