package wasm

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
)

// set makes a value the only one of a field.
func (in *instance) set(stack []uint64) int64 {
	field, name := abi.Field(int32(uint32(stack[0]))), in.bytes(stack[1], stack[2])
	value := in.bytes(stack[3], stack[4])
	if c := in.mayWrite(field, name, exchange.VerbSet); c != ok {
		return condition(c)
	}
	x := in.x
	switch field {
	case abi.FieldAuthority, abi.FieldPath, abi.FieldQuery:
		if c := checkTarget(field, value); c != ok {
			return condition(c)
		}
		in.setTarget(field, x.Arena.Keep(value))
	case abi.FieldProperty:
		return condition(in.setProperty(name, value))
	case abi.FieldResponseStatus:
		status, valid := parseStatus(value)
		if !valid {
			return condition(abi.Invalid)
		}
		x.Response.Status = status
	case abi.FieldResponseBody:
		if len(value) > abi.MaxResponseBody {
			return condition(abi.TooLarge)
		}
		x.Places[in.place].Body = append([]byte(nil), value...)
	default:
		return condition(in.changeHeader(field, exchange.VerbSet, name, value))
	}
	return condition(ok)
}

// add appends a line to a header.
func (in *instance) add(stack []uint64) int64 {
	field, name := abi.Field(int32(uint32(stack[0]))), in.bytes(stack[1], stack[2])
	value := in.bytes(stack[3], stack[4])
	if c := in.mayWrite(field, name, exchange.VerbAdd); c != ok {
		return condition(c)
	}
	return condition(in.changeHeader(field, exchange.VerbAdd, name, value))
}

// remove takes a value away.
func (in *instance) remove(stack []uint64) int64 {
	field, name := abi.Field(int32(uint32(stack[0]))), in.bytes(stack[1], stack[2])
	if c := in.mayWrite(field, name, exchange.VerbRemove); c != ok {
		return condition(c)
	}
	r := &in.x.Request
	switch field {
	case abi.FieldQuery:
		if !r.HasQuery {
			return condition(abi.Absent)
		}
		r.Query, r.HasQuery = nil, false
	case abi.FieldProperty:
		if c := checkPropertyName(name); c != ok {
			return condition(c)
		}
		if !in.x.Properties.Remove(in.version.filter, name) {
			return condition(abi.Absent)
		}
	default:
		return condition(in.changeHeader(field, exchange.VerbRemove, name, nil))
	}
	return condition(ok)
}

// mayWrite checks field, name and phase against the contract's table.
func (in *instance) mayWrite(field abi.Field, name []byte, verb exchange.HeaderVerb) abi.Condition {
	rule, known := ruleOf(field)
	if !known {
		return abi.Invalid
	}
	if !rule.writable() {
		return abi.Denied
	}
	allowed := [...]phase{exchange.VerbSet: rule.set, exchange.VerbAdd: rule.add, exchange.VerbRemove: rule.remove}[verb]
	switch {
	case allowed == 0 || rule.named != (len(name) > 0):
		return abi.Invalid
	case allowed&in.phase == 0:
		return abi.WrongPhase
	default:
		return ok
	}
}

func (in *instance) setTarget(field abi.Field, value []byte) {
	r := &in.x.Request
	switch field {
	case abi.FieldAuthority:
		r.Authority = value
	case abi.FieldPath:
		r.Path = value
	case abi.FieldQuery:
		r.Query, r.HasQuery = value, true
	}
}

func (in *instance) setProperty(name, value []byte) abi.Condition {
	if c := checkPropertyName(name); c != ok {
		return c
	}
	if len(value) > abi.MaxProperty || in.x.Properties.Set(in.version.filter, name, value) != nil {
		return abi.TooLarge
	}
	return ok
}

// changeHeader carries out an operation on the request's header or the response's. Before there is a
// response it is recorded at the filter's place.
func (in *instance) changeHeader(field abi.Field, verb exchange.HeaderVerb, name, value []byte) abi.Condition {
	if c := checkHeaderName(name); c != ok {
		return c
	}
	if c := checkHeaderValue(value); c != ok {
		return c
	}
	if in.headerOps == maxHeaderOps {
		return abi.TooLarge
	}
	x, recorded := in.x, in.phase == phaseRequest && field == abi.FieldResponseHeader
	header := &x.Request.Header
	if field == abi.FieldResponseHeader {
		header = &x.Response.Header
	}
	if verb == exchange.VerbRemove && !recorded {
		if !header.Remove(name) {
			return abi.Absent
		}
		in.headerOps++
		return ok
	}
	in.headerOps++
	op := exchange.HeaderOp{Verb: verb, Name: x.Arena.Keep(name), Value: x.Arena.Keep(value)}
	if recorded {
		place := &x.Places[in.place]
		place.Ops = append(place.Ops, op)
		return ok
	}
	header.Apply(op)
	return ok
}

// respond makes this filter's answer the response.
func (in *instance) respond(stack []uint64) int64 {
	status := int(int32(uint32(stack[0])))
	if !isFinal(status) {
		return condition(abi.Invalid)
	}
	in.x.Places[in.place].Status = status
	in.phase = phaseAnswered
	return condition(ok)
}
