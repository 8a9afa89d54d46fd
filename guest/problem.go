package guest

import "strconv"

// Problem is an error answer as a problem document (RFC 9457). Its instance is the request id. Never put a
// trap's text, a path or an identity into it.
type Problem struct {
	Status int
	Type   string // a URI; "about:blank" if empty
	Title  string // says the same for each problem of the type
	Detail string
	// Members are further members as JSON text: `"violated-policies":["a"]`. Empty for none.
	Members []byte
}

// Refuse answers the request with a problem document that is not to be stored by caches. Other headers that
// were set before are kept.
func (r *Request) Refuse(p *Problem) error {
	document = appendProblem(document[:0], p, r.RequestID())
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

// AppendJSON appends text as a JSON string.
func AppendJSON(b []byte, text string) []byte { return appendQuoted(b, text) }

func appendProblem(b []byte, p *Problem, instance []byte) []byte {
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
	b = append(b, `,"instance":`...)
	b = appendQuoted(b, instance)
	if len(p.Members) > 0 {
		b = append(b, ',')
		b = append(b, p.Members...)
	}
	return append(b, '}')
}
