package exchange

import (
	"errors"

	"github.com/porchedge/porch/abi"
)

// ErrProperties is returned when an exchange holds as many properties as it may.
var ErrProperties = errors.New("exchange: too many properties")

// Properties are named values that filters leave for later filters, in the order in which they were first
// set. The name is "<filter>/<name>", so only its filter can have written it.
type Properties struct {
	list []Property
}

// Property is one of them.
type Property struct {
	Name  string
	Value []byte
}

// All returns the properties; the caller does not change them.
func (p *Properties) All() []Property { return p.list }

// Get returns the value under the full name.
func (p *Properties) Get(name []byte) ([]byte, bool) {
	for i := range p.list {
		if p.list[i].Name == string(name) {
			return p.list[i].Value, true
		}
	}
	return nil, false
}

// Set stores a copy of value under "<filter>/<name>".
func (p *Properties) Set(filter string, name, value []byte) error {
	for i := range p.list {
		if n := p.list[i].Name; len(n) == len(filter)+1+len(name) &&
			n[:len(filter)] == filter && n[len(filter)] == '/' && n[len(filter)+1:] == string(name) {
			p.list[i].Value = append(p.list[i].Value[:0:0], value...)
			return nil
		}
	}
	if len(p.list) == abi.MaxProperties {
		return ErrProperties
	}
	p.list = append(p.list, Property{filter + "/" + string(name), append([]byte(nil), value...)})
	return nil
}

// Remove deletes "<filter>/<name>" and says whether it was there.
func (p *Properties) Remove(filter string, name []byte) bool {
	full := filter + "/" + string(name)
	for i := range p.list {
		if p.list[i].Name == full {
			p.list = append(p.list[:i], p.list[i+1:]...)
			return true
		}
	}
	return false
}

// Reset empties the list and keeps its memory.
func (p *Properties) Reset() {
	clear(p.list)
	p.list = p.list[:0]
}
