//go:build !race

package head

import "testing"

// TestReadAllocatesNothing guards the path of every request.
func TestReadAllocatesNothing(t *testing.T) {
	h, _ := parse([]byte("GET /v1/items?a=b HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: u\r\nAccept: */*\r\nX-Request-Id: 1\r\n\r\n"))
	h.Check(limits)                                                         //nolint:errcheck // allowed
	if n := testing.AllocsPerRun(100, func() { h.Check(limits) }); n != 0 { //nolint:errcheck // allowed
		t.Errorf("%v allocations", n)
	}
}
