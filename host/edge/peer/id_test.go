package peer

import (
	"strings"
	"testing"

	"github.com/porchedge/porch/host/exchange"
)

func TestRequestID(t *testing.T) {
	tests := []struct {
		name, given   string
		trusted, kept bool
	}{
		{"of a proxy", "0f8fad5b-d9cb-469f-a165-70867728950e", true, true},
		{"of a stranger", "0f8fad5b", false, false},
		{"empty", "", true, false},
		{"too long", strings.Repeat("a", 65), true, false},
		{"a space", "a b", true, false},
		{"a quote", `a"`, true, false},
		{"outside ASCII", "a\xff", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h exchange.Header
			h.Add([]byte("x-request-id"), []byte(tt.given))
			id := RequestID(tt.trusted, &h)
			if (id == tt.given) != tt.kept {
				t.Errorf("%q", id)
			}
			if !tt.kept && (len(id) != idSize || !isID([]byte(id))) {
				t.Errorf("fresh id %q", id)
			}
		})
	}
	var none exchange.Header
	if a, b := RequestID(true, &none), RequestID(true, &none); a == b {
		t.Errorf("%q twice", a)
	}
}
