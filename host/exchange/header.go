package exchange

import "bytes"

// Header is an ordered list of fields, as they stand on the wire. Names compare without regard to case
// and keep the case that they were given.
type Header struct {
	Fields []Field
}

// Field is one field line.
type Field struct {
	Name, Value []byte
}

// HeaderVerb is what a HeaderOp does.
type HeaderVerb uint8

// The verbs.
const (
	VerbSet HeaderVerb = iota
	VerbAdd
	VerbRemove
)

// HeaderOp is one recorded operation on a header.
type HeaderOp struct {
	Verb        HeaderVerb
	Name, Value []byte
}

// Apply carries out an operation.
func (h *Header) Apply(op HeaderOp) {
	switch op.Verb {
	case VerbSet:
		h.Set(op.Name, op.Value)
	case VerbAdd:
		h.Add(op.Name, op.Value)
	case VerbRemove:
		h.Remove(op.Name)
	}
}

// Get returns the first value under name.
func (h *Header) Get(name []byte) ([]byte, bool) {
	for i := range h.Fields {
		if bytes.EqualFold(h.Fields[i].Name, name) {
			return h.Fields[i].Value, true
		}
	}
	return nil, false
}

// Add appends a field. It keeps both slices.
func (h *Header) Add(name, value []byte) {
	h.Fields = append(h.Fields, Field{name, value})
}

// Set makes value the only one under name, at the place of the first. It keeps both slices.
func (h *Header) Set(name, value []byte) {
	for i := range h.Fields {
		if bytes.EqualFold(h.Fields[i].Name, name) {
			h.Fields[i].Value = value
			h.removeFrom(i+1, name)
			return
		}
	}
	h.Add(name, value)
}

// Remove deletes every field under name and says whether there was one.
func (h *Header) Remove(name []byte) bool {
	return h.removeFrom(0, name)
}

func (h *Header) removeFrom(from int, name []byte) bool {
	kept := h.Fields[:from]
	for _, f := range h.Fields[from:] {
		if !bytes.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	removed := len(kept) < len(h.Fields)
	clear(h.Fields[len(kept):])
	h.Fields = kept
	return removed
}

// Reset empties the header and keeps its memory.
func (h *Header) Reset() {
	clear(h.Fields)
	h.Fields = h.Fields[:0]
}
