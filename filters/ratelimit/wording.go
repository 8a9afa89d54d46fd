package main

import (
	"strconv"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
)

// wording is what responses say alike, made once, with room behind it for what differs.
type wording struct {
	policy []byte // the value of RateLimit-Policy
	name   []byte // how the value of RateLimit begins: "name";r=
	limit  []byte // how a standing begins: the limit and a space
	spent  *guest.Problem
	never  *guest.Problem // for a cost above the limit itself
}

// room is more than three numbers take, and what stands between them.
const room = 64

func word(filter string, spec abi.LimitSpec) wording {
	name := appendString(nil, filter)
	w := wording{
		policy: append(name[:len(name):len(name)], ";q="...),
		name:   append(make([]byte, 0, len(name)+room), name...),
		limit:  strconv.AppendInt(make([]byte, 0, room), spec.Limit, 10),
		spent:  quotaExceeded(filter, "the limit of requests is spent; try again later"),
		never:  quotaExceeded(filter, "the cost of this request is above the limit itself"),
	}
	w.policy = append(w.policy, w.limit...)
	w.policy = append(w.policy, ";w="...)
	w.policy = strconv.AppendInt(w.policy, seconds(spec.WindowMS), 10)
	w.name = append(w.name, ";r="...)
	w.limit = append(w.limit, ' ')
	return w
}

// quotaExceeded is the problem of draft-ietf-httpapi-ratelimit-headers.
func quotaExceeded(filter, detail string) *guest.Problem {
	return &guest.Problem{
		Status:  429,
		Type:    "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title:   "Request cannot be satisfied as assigned quota has been exceeded",
		Detail:  detail,
		Members: append(guest.AppendJSON([]byte(`"violated-policies":[`), filter), ']'),
	}
}

// rest is the value of RateLimit.
func (w *wording) rest(remaining []byte, reset int64) []byte {
	b := append(w.name, remaining...)
	b = append(b, ';', 't', '=')
	return strconv.AppendInt(b, reset, 10)
}

// stand is where a verdict leaves the client.
func (w *wording) stand(v *guest.Verdict) standing {
	limit := len(w.limit)
	b := strconv.AppendInt(w.limit, v.Remaining, 10)
	remaining := len(b)
	b = append(b, ' ')
	b = strconv.AppendInt(b, seconds(v.ResetAt), 10)
	return standing{text: b, limit: b[:limit-1], remaining: b[limit:remaining], resetAt: b[remaining+1:]}
}

// appendString appends a string of structured fields (RFC 9651 section 3.3.3), which is ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r > '~':
			b = append(b, '?')
		default:
			b = append(b, byte(r))
		}
	}
	return append(b, '"')
}
