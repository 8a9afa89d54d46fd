package guest

import (
	"strconv"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Response is a response on its way back, as the filters after this one left it.
type Response struct {
	Exchange
}

// Status returns the status.
func (*Response) Status() int {
	n := 0
	for _, digit := range always(abi.FieldResponseStatus) {
		n = 10*n + int(digit-'0')
	}
	return n
}

// SetStatus changes the status, 200 to 599.
func (*Response) SetStatus(status int) error {
	var text [20]byte
	return condition(host.Set(abi.FieldResponseStatus, "", strconv.AppendInt(text[:0], int64(status), 10)))
}

// ResponseHeader returns the value of the first line of a response header.
func (*Response) ResponseHeader(name string) (value []byte, ok bool) {
	return read(abi.FieldResponseHeader, name)
}

// ResponseHeaderValues returns the values of all lines of a response header.
func (*Response) ResponseHeaderValues(name string) List {
	return list(abi.FieldResponseHeader, name)
}

// ResponseHeaderNames returns the names in the response header, each once.
func (*Response) ResponseHeaderNames() List { return list(abi.FieldResponseHeader, "") }

// Outcome returns abi.OutcomeExecuted or abi.OutcomeReplayed for a request that was run under a key; ok is
// false for others.
func (*Response) Outcome() (outcome []byte, ok bool) { return read(abi.FieldOutcome, "") }
