package wasm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/host/exchange"
)

// fieldRule says in which phases a field can be read and written.
type fieldRule struct {
	named                  bool // get, set, add and remove take a name
	read, set, add, remove phase
}

// fieldRules is the contract's table of fields. A field without any phase is unknown.
var fieldRules = [...]fieldRule{
	abi.FieldMethod:         {read: phaseExchange},
	abi.FieldScheme:         {read: phaseExchange},
	abi.FieldAuthority:      {read: phaseExchange, set: phaseRequest},
	abi.FieldPath:           {read: phaseExchange, set: phaseRequest},
	abi.FieldQuery:          {read: phaseExchange, set: phaseRequest, remove: phaseRequest},
	abi.FieldRoutePath:      {read: phaseExchange},
	abi.FieldRequestHeader:  {named: true, read: phaseExchange, set: phaseRequest, add: phaseRequest, remove: phaseRequest},
	abi.FieldPeer:           {read: phaseExchange},
	abi.FieldClient:         {read: phaseExchange},
	abi.FieldRequestID:      {read: phaseExchange},
	abi.FieldRoute:          {read: phaseExchange},
	abi.FieldFilter:         {read: phaseConfigure | phaseExchange},
	abi.FieldVersion:        {read: phaseConfigure | phaseExchange},
	abi.FieldConfiguration:  {read: phaseConfigure | phaseExchange},
	abi.FieldProperty:       {named: true, read: phaseExchange, set: phaseExchange, remove: phaseExchange},
	abi.FieldResponseStatus: {read: phaseResponse, set: phaseResponse},
	abi.FieldResponseHeader: {named: true, read: phaseResponse, set: phaseExchange, add: phaseExchange, remove: phaseExchange},
	abi.FieldResponseBody:   {set: phaseRequest},
	abi.FieldOutcome:        {read: phaseResponse},
	abi.FieldBodyHash:       {read: phaseRequest},
}

func ruleOf(field abi.Field) (fieldRule, bool) {
	if field < 0 || int(field) >= len(fieldRules) {
		return fieldRule{}, false
	}
	rule := fieldRules[field]
	return rule, rule.read|rule.set != 0
}

// writable says that some filter may write the field in some phase.
func (r fieldRule) writable() bool { return r.set|r.add|r.remove != 0 }

// get writes the value of a field to the guest's buffer.
func (in *instance) get(stack []uint64) int64 {
	field := abi.Field(int32(uint32(stack[0])))
	name := in.bytes(stack[1], stack[2])
	buffer := in.bytes(stack[3], stack[4])
	rule, known := ruleOf(field)
	if !known || rule.read == 0 || rule.named != (len(name) > 0) {
		return condition(abi.Invalid)
	}
	if rule.read&in.phase == 0 {
		return condition(abi.WrongPhase)
	}
	value, present := in.value(field, name)
	if !present {
		return condition(abi.Absent)
	}
	return give(buffer, value)
}

// give writes value to the guest's buffer if it fits whole, and returns its length either way.
func give(buffer, value []byte) int64 {
	if len(value) <= len(buffer) {
		copy(buffer, value)
	}
	return int64(len(value))
}

// value is a field as bytes, valid until the next host function; false where it is absent. Numbers and
// texts are put into the instance's scratch space.
func (in *instance) value(field abi.Field, name []byte) ([]byte, bool) {
	x := in.x
	switch field {
	case abi.FieldMethod:
		return in.text(x.Request.Method), true
	case abi.FieldScheme:
		return in.text(x.Request.Scheme), true
	case abi.FieldAuthority:
		return x.Request.Authority, true
	case abi.FieldPath:
		return x.Request.Path, true
	case abi.FieldQuery:
		return x.Request.Query, x.Request.HasQuery
	case abi.FieldRoutePath:
		return x.Request.RoutePath, true
	case abi.FieldRequestHeader:
		return x.Request.Header.Get(name)
	case abi.FieldPeer:
		in.scratch = x.Peer.Unmap().WithZone("").AppendTo(in.scratch[:0])
		return in.scratch, true
	case abi.FieldClient:
		in.scratch = x.Client.Unmap().WithZone("").AppendTo(in.scratch[:0])
		return in.scratch, true
	case abi.FieldRequestID:
		return in.text(x.ID), true
	case abi.FieldRoute:
		return in.text(x.Route), true
	case abi.FieldFilter:
		return in.text(in.version.filter), true
	case abi.FieldVersion:
		return in.text(in.version.id), true
	case abi.FieldConfiguration:
		return in.version.config, true
	case abi.FieldProperty:
		return x.Properties.Get(name)
	case abi.FieldResponseStatus:
		in.scratch = strconv.AppendInt(in.scratch[:0], int64(x.Response.Status), 10)
		return in.scratch, true
	case abi.FieldResponseHeader:
		return x.Response.Header.Get(name)
	case abi.FieldOutcome:
		return in.outcome()
	case abi.FieldBodyHash:
		return in.bodyHash()
	default:
		return nil, false
	}
}

func (in *instance) text(s string) []byte {
	in.scratch = append(in.scratch[:0], s...)
	return in.scratch
}

func (in *instance) outcome() ([]byte, bool) {
	switch {
	case in.x.Replayed:
		return in.text(abi.OutcomeReplayed), true
	case in.x.Once != nil && in.x.UpstreamStatus != 0:
		return in.text(abi.OutcomeExecuted), true
	default:
		return nil, false
	}
}

// bodyHash is the SHA-256 of the request body as the client sent it, where the body is held.
func (in *instance) bodyHash() ([]byte, bool) {
	if !in.x.Request.Held {
		return nil, false
	}
	in.pause()
	sum := sha256.Sum256(in.x.Request.Body)
	in.resume()
	in.scratch = append(in.scratch[:0], sum[:]...)
	return in.scratch, true
}

// list writes the names of a field, or all values under one name, each behind its length.
func (in *instance) list(stack []uint64) int64 {
	field := abi.Field(int32(uint32(stack[0])))
	name := in.bytes(stack[1], stack[2])
	buffer := in.bytes(stack[3], stack[4])
	rule, known := ruleOf(field)
	if !known || !rule.named {
		return condition(abi.Invalid)
	}
	if rule.read&in.phase == 0 {
		return condition(abi.WrongPhase)
	}
	in.scratch = in.scratch[:0]
	switch field {
	case abi.FieldProperty:
		in.listProperties(name)
	case abi.FieldRequestHeader:
		in.listFields(in.x.Request.Header.Fields, name)
	case abi.FieldResponseHeader:
		in.listFields(in.x.Response.Header.Fields, name)
	}
	return give(buffer, in.scratch)
}

func (in *instance) listFields(fields []exchange.Field, name []byte) {
	for i, f := range fields {
		if len(name) > 0 {
			if bytes.EqualFold(f.Name, name) {
				in.entry(f.Value)
			}
		} else if !named(fields[:i], f.Name) {
			in.entry(f.Name)
		}
	}
}

func named(fields []exchange.Field, name []byte) bool {
	for _, f := range fields {
		if bytes.EqualFold(f.Name, name) {
			return true
		}
	}
	return false
}

func (in *instance) listProperties(name []byte) {
	for _, p := range in.x.Properties.All() {
		if len(name) == 0 {
			in.scratch = binary.LittleEndian.AppendUint32(in.scratch, uint32(len(p.Name)))
			in.scratch = append(in.scratch, p.Name...)
		} else if p.Name == string(name) {
			in.entry(p.Value)
		}
	}
}

func (in *instance) entry(value []byte) {
	in.scratch = binary.LittleEndian.AppendUint32(in.scratch, uint32(len(value)))
	in.scratch = append(in.scratch, value...)
}
