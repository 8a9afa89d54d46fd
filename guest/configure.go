package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Config is what a filter reads when it is configured, and where it declares what it needs.
type Config struct {
	root    *Object
	refused bool
}

// Configure runs a filter's configuration. It is the body of the export porch_configure. Keys of the
// configuration that the handler did not ask for are mistakes.
func Configure(handle func(*Config)) int32 {
	memory.reset()
	c := &Config{}
	text, ok := read(abi.FieldConfiguration, "")
	if !ok {
		text = []byte("{}")
	}
	root, err := parseJSON(text)
	switch {
	case err != nil:
		c.Reject("", "not JSON: "+err.Error())
		return failed
	case root.kind != kindObject:
		c.Reject("", "must be a mapping, not "+root.kind.String())
		return failed
	}
	c.root = &Object{c: c, node: root}
	handle(c)
	c.root.rejectUnknown()
	if c.refused {
		return failed
	}
	return accepted
}

// Object returns the configuration.
func (c *Config) Object() *Object { return c.root }

// Filter returns the name that the operator gave this filter.
func (c *Config) Filter() string { return string(always(abi.FieldFilter)) }

// Version returns the 12 hex digits that name module and configuration.
func (c *Config) Version() string { return string(always(abi.FieldVersion)) }

// Reject tells the operator of a mistake: where, a JSON pointer into the configuration, and why. It may be
// called for each mistake there is.
func (c *Config) Reject(pointer, reason string) {
	c.refused = true
	host.Reject(pointer, reason)
}

// Rejected says whether there was a mistake until now. A handler stops there before it declares policies.
func (c *Config) Rejected() bool { return c.refused }

// Limit declares a limit under a name of 1 to 64 characters A-Z a-z 0-9 . _ -. What was counted belongs to
// the names of filter and policy, so it outlives a change of the filter's module or configuration.
func (c *Config) Limit(name string, spec abi.LimitSpec) Limit {
	return Limit{c.declare(abi.KindLimit, name, limitJSON(spec))}
}

// Once declares a policy of single execution; names are as for Limit.
func (c *Config) Once(name string, spec abi.OnceSpec) Once {
	return Once{c.declare(abi.KindOnce, name, onceJSON(spec))}
}

// declare leaves the reason of a refusal to the host, which reports it.
func (c *Config) declare(kind abi.Kind, name string, spec []byte) int32 {
	handle := host.Policy(int32(kind), name, string(spec))
	if handle < 0 {
		c.refused = true
	}
	return handle
}

// HoldBody has the host hold the whole request body, up to limit bytes, before the filter is called: for
// requests that carry the header and whose method may change something, for all where header is empty. A
// longer body is answered 413.
func (c *Config) HoldBody(header string, limit int64) {
	if host.Need(abi.FeatureBody, header, limit) < 0 {
		c.Reject("", "the host cannot hold request bodies for header "+quote(header))
	}
}
