package guesttest

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/porchedge/porch/abi"
)

// Get implements the host function.
func (h *Host) Get(field abi.Field, name string, buf []byte) int32 {
	value, result := h.value(field, name)
	if result < 0 {
		return int32(result)
	}
	return fill(buf, value)
}

// List implements the host function.
func (h *Host) List(field abi.Field, name string, buf []byte) int32 {
	var fields []Field
	exact := false
	switch field {
	case abi.FieldRequestHeader:
		if h.phase != phaseRequest && h.phase != phaseResponse {
			return int32(abi.WrongPhase)
		}
		fields = h.exchange.Request.Header
	case abi.FieldResponseHeader:
		if h.phase != phaseResponse {
			return int32(abi.WrongPhase)
		}
		fields = h.exchange.Response.Header
	case abi.FieldProperty:
		if h.phase != phaseRequest && h.phase != phaseResponse {
			return int32(abi.WrongPhase)
		}
		fields, exact = h.exchange.Properties, true
	default:
		return int32(abi.Invalid)
	}
	var entries []byte
	var names []Field
	for _, f := range fields {
		entry := f.Value
		if name == "" {
			if _, known := get(names, f.Name); known && !exact {
				continue
			}
			names = append(names, f)
			entry = f.Name
		} else if !strings.EqualFold(f.Name, name) || exact && f.Name != name {
			continue
		}
		entries = binary.LittleEndian.AppendUint32(entries, uint32(len(entry)))
		entries = append(entries, entry...)
	}
	return fill(buf, string(entries))
}

func fill(buf []byte, value string) int32 {
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value))
}

func (h *Host) value(field abi.Field, name string) (string, abi.Condition) {
	named := field == abi.FieldRequestHeader || field == abi.FieldResponseHeader || field == abi.FieldProperty
	if field < abi.FieldMethod || field > abi.FieldBodyHash || field == abi.FieldRequestBody ||
		field == abi.FieldResponseBody || named != (name != "") {
		return "", abi.Invalid
	}
	if h.phase == phaseNone || h.phase == phaseAnswered {
		return "", abi.WrongPhase
	}
	switch field {
	case abi.FieldFilter:
		return h.Filter, 0
	case abi.FieldVersion:
		return h.Version, 0
	case abi.FieldConfiguration:
		return h.configuration, 0
	}
	if h.phase == phaseConfigure {
		return "", abi.WrongPhase
	}
	if field == abi.FieldBodyHash {
		if h.phase != phaseRequest {
			return "", abi.WrongPhase
		}
		return h.bodyHash()
	}
	if field >= abi.FieldResponseStatus {
		if h.phase != phaseResponse {
			return "", abi.WrongPhase
		}
		return h.exchange.ofResponse(field, name)
	}
	return h.exchange.ofRequest(field, name)
}

// bodyHash counts the body as held.
func (h *Host) bodyHash() (string, abi.Condition) {
	sum := sha256.Sum256(h.exchange.sent.Body)
	return string(sum[:]), 0
}

func (x *Exchange) ofRequest(field abi.Field, name string) (string, abi.Condition) {
	r := &x.Request
	path, query, marked := strings.Cut(r.Target, "?")
	switch field {
	case abi.FieldMethod:
		return r.Method, 0
	case abi.FieldScheme:
		return r.Scheme, 0
	case abi.FieldAuthority:
		return r.Authority, 0
	case abi.FieldPath:
		return path, 0
	case abi.FieldQuery:
		return present(query, marked)
	case abi.FieldRoutePath:
		return r.RoutePath, 0
	case abi.FieldRequestHeader:
		return present(get(r.Header, name))
	case abi.FieldPeer:
		return r.Peer, 0
	case abi.FieldClient:
		return r.Client, 0
	case abi.FieldRequestID:
		return r.ID, 0
	case abi.FieldRoute:
		return r.Route, 0
	default:
		for _, p := range x.Properties {
			if p.Name == name {
				return p.Value, 0
			}
		}
		return "", abi.Absent
	}
}

func (x *Exchange) ofResponse(field abi.Field, name string) (string, abi.Condition) {
	switch {
	case field == abi.FieldResponseStatus:
		return strconv.Itoa(x.Response.Status), 0
	case field == abi.FieldResponseHeader:
		return present(x.Response.Get(name))
	case x.Replayed:
		return abi.OutcomeReplayed, 0
	case x.Executed:
		return abi.OutcomeExecuted, 0
	default:
		return "", abi.Absent
	}
}

func present(value string, ok bool) (string, abi.Condition) {
	if !ok {
		return "", abi.Absent
	}
	return value, 0
}
