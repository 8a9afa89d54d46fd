package upstream

import "fmt"

// Kind says how a request to an upstream failed.
type Kind uint8

// The kinds.
const (
	Unreachable Kind = iota // no connection, or it broke before the response's head
	Timeout                 // no answer in time
	Nonsense                // an answer that cannot be used
	ClientBody              // the client's body could not be read
)

// Error is a request that failed upstream.
type Error struct {
	Kind Kind
	// Sent says that at least one byte of the request was sent: the upstream may have acted on it.
	Sent bool
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("upstream: %v", e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
