package guesttest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/porchedge/porch/abi"
)

// Policy implements the host function. What it refuses is also a rejection, as a host reports it.
func (h *Host) Policy(kind int32, name, spec string) int32 {
	if h.phase != phaseConfigure {
		return int32(abi.WrongPhase)
	}
	p := Policy{Kind: abi.Kind(kind), Name: name, Spec: spec}
	condition, reason := h.checkPolicy(&p)
	if condition < 0 {
		h.Rejections = append(h.Rejections, Rejection{"", "policy " + name + ": " + reason})
		return int32(condition)
	}
	h.Policies = append(h.Policies, p)
	return int32(len(h.Policies) - 1)
}

func (h *Host) checkPolicy(p *Policy) (abi.Condition, string) {
	switch {
	case len(p.Name) > abi.MaxPolicyName, len(p.Spec) > abi.MaxSpec, len(h.Policies) == abi.MaxPolicies:
		return abi.TooLarge, "its name, its spec or their number is too large"
	case !policyName(p.Name):
		return abi.Invalid, "not a name"
	}
	for _, other := range h.Policies {
		if other.Name == p.Name {
			return abi.Invalid, "declared twice"
		}
	}
	switch p.Kind {
	case abi.KindLimit:
		if err := decode(p.Spec, &p.limit); err != nil {
			return abi.Invalid, err.Error()
		}
		s := &p.limit
		durable := s.Durability == "" || s.Durability == abi.DurabilitySync ||
			s.Durability == abi.DurabilityAsync || s.Durability == abi.DurabilityNone
		if s.Algorithm != abi.AlgorithmFixedWindow || s.Limit < 1 || s.Limit > abi.MaxCost || s.WindowMS < 1 ||
			s.MaxKeys < 0 || !durable {
			return abi.Invalid, "spec out of bounds"
		}
	case abi.KindOnce:
		if err := decode(p.Spec, &p.once); err != nil {
			return abi.Invalid, err.Error()
		}
		s := &p.once
		if s.TTLMS < 1 || s.MaxWaitMS < 1 || s.MaxWaiters < 1 || s.MaxResponse < 0 || s.MaxKeys < 0 ||
			s.OnUnknown != "" && s.OnUnknown != abi.OnUnknownRerun && s.OnUnknown != abi.OnUnknownRefuse {
			return abi.Invalid, "spec out of bounds"
		}
	case abi.KindGuard:
		if err := decode(p.Spec, &p.guard); err != nil {
			return abi.Invalid, err.Error()
		}
		if p.guard.TTLMS < 1 || p.guard.MaxKeys < 0 {
			return abi.Invalid, "spec out of bounds"
		}
	default:
		return abi.Invalid, "unknown kind"
	}
	return 0, ""
}

func decode(spec string, v any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(spec)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func policyName(name string) bool {
	for _, c := range []byte(name) {
		letter := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return name != ""
}

// Reject implements the host function.
func (h *Host) Reject(pointer, reason string) int32 {
	if h.phase != phaseConfigure {
		return int32(abi.WrongPhase)
	}
	if len(h.Rejections) < abi.MaxReasons {
		h.Rejections = append(h.Rejections, Rejection{cut(pointer), cut(reason)})
	}
	return 0
}

func cut(text string) string { return text[:min(len(text), abi.MaxReason)] }

// Need implements the host function.
func (h *Host) Need(features int32, header string, limit int64) int32 {
	switch {
	case h.phase != phaseConfigure:
		return int32(abi.WrongPhase)
	case features != abi.FeatureBody, limit < 0, header != "" && !token(header),
		len(header) > abi.MaxFieldName, len(h.Needs) == abi.MaxNeeds:
		return int32(abi.Invalid)
	}
	h.Needs = append(h.Needs, Need{features, header, limit})
	return 0
}
