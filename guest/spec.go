package guest

import (
	"strconv"

	"github.com/porchedge/porch/abi"
)

// Specs are written by hand: encoding/json would make each filter a third larger and slower to start.

func limitJSON(s abi.LimitSpec) []byte {
	b := append([]byte(nil), `{"algorithm":`...)
	b = appendQuoted(b, s.Algorithm)
	b = appendMember(b, "limit", s.Limit)
	b = appendMember(b, "window_ms", s.WindowMS)
	if s.Durability != "" {
		b = append(b, `,"durability":`...)
		b = appendQuoted(b, s.Durability)
	}
	if s.MaxKeys != 0 {
		b = appendMember(b, "max_keys", s.MaxKeys)
	}
	return append(b, '}')
}

func onceJSON(s abi.OnceSpec) []byte {
	b := append([]byte(nil), `{"ttl_ms":`...)
	b = strconv.AppendInt(b, s.TTLMS, 10)
	b = appendMember(b, "max_wait_ms", s.MaxWaitMS)
	b = appendMember(b, "max_waiters", s.MaxWaiters)
	b = appendMember(b, "max_response", s.MaxResponse)
	if len(s.Headers) > 0 {
		b = append(b, `,"headers":[`...)
		for i, h := range s.Headers {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, h)
		}
		b = append(b, ']')
	}
	if s.MaxKeys != 0 {
		b = appendMember(b, "max_keys", s.MaxKeys)
	}
	if s.OnUnknown != "" {
		b = append(b, `,"on_unknown":`...)
		b = appendQuoted(b, s.OnUnknown)
	}
	return append(b, '}')
}

func guardJSON(s abi.GuardSpec) []byte {
	b := append([]byte(nil), `{"ttl_ms":`...)
	b = strconv.AppendInt(b, s.TTLMS, 10)
	if s.MaxKeys != 0 {
		b = appendMember(b, "max_keys", s.MaxKeys)
	}
	return append(b, '}')
}

func appendMember(b []byte, name string, n int64) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, n, 10)
}

func verifierJSON(s abi.VerifierSpec) []byte {
	b := append([]byte(nil), `{"algorithms":[`...)
	for i, a := range s.Algorithms {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, a)
	}
	b = append(b, `],"key":{`...)
	first := true
	for _, source := range [...]struct{ name, value string }{{"env", s.Key.Env}, {"file", s.Key.File}, {"jwks", s.Key.JWKS}} {
		if source.value == "" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendQuoted(b, source.name)
		b = append(b, ':')
		b = appendQuoted(b, source.value)
	}
	b = append(b, `},"issuer":`...)
	b = appendQuoted(b, s.Issuer)
	b = append(b, `,"audience":`...)
	b = appendQuoted(b, s.Audience)
	if s.LeewayMS != 0 {
		b = appendMember(b, "leeway_ms", s.LeewayMS)
	}
	return append(b, '}')
}
