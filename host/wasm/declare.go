package wasm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
)

const (
	maxSpec  = 64 << 10 // bytes of a policy's spec
	maxNeeds = 16       // needs of one filter
)

// declarations are what a guest said of itself while it was configured.
type declarations struct {
	policies []policy
	needs    []Need
	reasons  []Reason
	// verifiers have keys in the first instance of a version alone.
	verifiers []verifier
	// refused says for each policy that got no handle why.
	refused []error
}

// policy is one declared policy; its handle is its index.
type policy struct {
	kind abi.Kind
	name string
	spec []byte // as the guest wrote it
	pool *pool.Policy
	once *abi.OnceSpec // of a policy of KindOnce
}

// agrees says whether two instances of one version declared the same.
func (d *declarations) agrees(other *declarations) bool {
	return slices.EqualFunc(d.policies, other.policies, func(a, b policy) bool {
		return a.kind == b.kind && a.name == b.name && bytes.Equal(a.spec, b.spec)
	}) && slices.Equal(d.needs, other.needs) && slices.EqualFunc(d.verifiers, other.verifiers, func(a, b verifier) bool {
		return bytes.Equal(a.spec, b.spec)
	})
}

// policy declares a policy and returns its handle.
func (in *instance) policy(stack []uint64) int64 {
	kind := abi.Kind(int32(uint32(stack[0])))
	name := in.bytes(stack[1], stack[2])
	spec := in.bytes(stack[3], stack[4])
	p := policy{kind: kind, name: oneLine(name, abi.MaxPolicyName), spec: bytes.Clone(spec)}
	c, err := in.declarePolicy(&p, name)
	if err != nil {
		in.declared.refuse(p.name, err)
		return condition(c)
	}
	in.declared.policies = append(in.declared.policies, p)
	return int64(len(in.declared.policies) - 1)
}

// refuse keeps why a policy was refused, for the first of them.
func (d *declarations) refuse(name string, err error) {
	if len(d.refused) < abi.MaxPolicies {
		reason := strings.ReplaceAll(err.Error(), "\n", "; ")
		d.refused = append(d.refused, fmt.Errorf("%w: %q: %s", ErrPolicy, name, reason))
	}
}

// declarePolicy checks p and, in the first instance of a version, declares it to the pool. Further
// instances repeat what the first one declared, or are not used.
func (in *instance) declarePolicy(p *policy, name []byte) (abi.Condition, error) {
	d := in.declared
	switch {
	case len(d.policies) == abi.MaxPolicies:
		return abi.TooLarge, fmt.Errorf("a filter declares at most %d policies", abi.MaxPolicies)
	case len(name) > abi.MaxPolicyName:
		return abi.TooLarge, fmt.Errorf("the name is longer than %d bytes", abi.MaxPolicyName)
	case len(p.spec) > maxSpec:
		return abi.TooLarge, fmt.Errorf("the spec is longer than %d bytes", maxSpec)
	case !isPolicyName(name):
		return abi.Invalid, fmt.Errorf("a name has the characters A-Z a-z 0-9 . _ - alone, and at least one")
	case slices.ContainsFunc(d.policies, func(other policy) bool { return other.name == p.name }):
		return abi.Invalid, fmt.Errorf("the name is declared twice")
	}
	var err error
	switch p.kind {
	case abi.KindLimit:
		err = in.declareLimit(p)
	case abi.KindOnce:
		err = in.declareOnce(p)
	case abi.KindGuard:
		err = in.declareGuard(p)
	default:
		err = fmt.Errorf("kind %d is unknown", p.kind)
	}
	return abi.Invalid, err
}

func (in *instance) declareLimit(p *policy) error {
	spec, err := limitSpec(p.spec)
	if err != nil || !in.first {
		return err
	}
	p.pool, err = in.version.decider.Limit(in.version.filter, p.name, spec)
	return err
}

func (in *instance) declareOnce(p *policy) error {
	once, spec, err := onceSpec(p.spec)
	if err != nil || !in.first {
		return err
	}
	p.once = once
	p.pool, err = in.version.decider.Once(in.version.filter, p.name, spec)
	return err
}

func (in *instance) declareGuard(p *policy) error {
	spec, err := guardSpec(p.spec)
	if err != nil || !in.first {
		return err
	}
	p.pool, err = in.version.decider.Guard(in.version.filter, p.name, spec)
	return err
}

// need asks the host for the request body.
func (in *instance) need(stack []uint64) int64 {
	features := int32(uint32(stack[0]))
	header := in.bytes(stack[1], stack[2])
	most := int64(stack[3])
	if features == 0 || features&^abi.FeatureBody != 0 || most < 0 ||
		len(header) > abi.MaxFieldName || (len(header) > 0 && !isToken(header)) ||
		len(in.declared.needs) == maxNeeds {
		return condition(abi.Invalid)
	}
	in.declared.needs = append(in.declared.needs, Need{Features: features, Header: string(header), Cap: most})
	return condition(ok)
}

// reject keeps what the guest has against its configuration.
func (in *instance) reject(stack []uint64) int64 {
	pointer := in.bytes(stack[0], stack[1])
	reason := in.bytes(stack[2], stack[3])
	if len(in.declared.reasons) < abi.MaxReasons {
		in.declared.reasons = append(in.declared.reasons, Reason{
			Pointer: oneLine(pointer, abi.MaxReason),
			Text:    oneLine(reason, abi.MaxReason),
		})
	}
	return condition(ok)
}
