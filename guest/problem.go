package guest

import "strconv"

// Problem is an error answer as a problem document (RFC 9457). Its instance is the request id. Never put an
// identity, a path or what the host said into it. A filter makes its problems once, as variables: a problem
// is not changed after it was first sent.
type Problem struct {
	Status int
	Type   string // a URI; "about:blank" if empty
	Title  string // says the same for each problem of the type
	Detail string
	// Members are further members as JSON text: `"violated-policies":["a"]`. Empty for none.
	Members []byte

	head []byte // the document up to the instance, once it was sent
}

// Refuse answers the request with a problem document that caches do not store. Other headers that were set
// before are kept.
func (r *Request) Refuse(p *Problem) error {
	if p.head == nil {
		p.head = p.appendHead(nil)
	}
	document = append(document[:0], p.head...)
	document = appendQuoted(document, r.RequestID())
	document = append(document, '}')
	if err := r.SetResponseHeader("Content-Type", problemType); err != nil {
		return err
	}
	if err := r.SetResponseHeader("Cache-Control", noStore); err != nil {
		return err
	}
	if err := r.SetBody(document); err != nil {
		return err
	}
	return r.Respond(p.Status)
}

var (
	problemType = []byte("application/problem+json")
	noStore     = []byte("no-store")
	document    []byte
)

func (p *Problem) appendHead(b []byte) []byte {
	kind := p.Type
	if kind == "" {
		kind = "about:blank"
	}
	b = append(b, `{"type":`...)
	b = appendQuoted(b, kind)
	b = append(b, `,"title":`...)
	b = appendQuoted(b, p.Title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(p.Status), 10)
	if p.Detail != "" {
		b = append(b, `,"detail":`...)
		b = appendQuoted(b, p.Detail)
	}
	if len(p.Members) > 0 {
		b = append(b, ',')
		b = append(b, p.Members...)
	}
	return append(b, `,"instance":`...)
}

// AppendJSON appends text as a JSON string.
func AppendJSON(b []byte, text string) []byte { return appendQuoted(b, text) }
