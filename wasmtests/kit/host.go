package kit

import (
	"io"
	"testing"
	"time"
)

// Host is a host under test: something that serves HTTP through filters.
type Host interface {
	// Open starts a server. An error says why a filter was refused, as an operator would read it.
	Open(t testing.TB, s Setup) (Server, error)
}

// Setup is what a server is made of: one chain of filters on every path, before one upstream.
type Setup struct {
	Filters  []Filter // in the order of the chain
	Upstream string   // host and port, spoken to in plain HTTP
	// TrustedProxies are prefixes of addresses whose word on the client's address is taken.
	TrustedProxies []string
	// Data is the folder of what has to outlive the server.
	Data string
	Log  io.Writer
	// Shards and Mailbox size the host's queues of decisions: so many actors, and so many decisions or
	// open flights for each; 0 takes the host's own numbers.
	Shards, Mailbox int
}

// Filter is one filter of a Setup. Zero values take the host's defaults.
type Filter struct {
	Name      string
	Module    []byte
	Config    string // JSON; empty where the operator gives none
	Timeout   time.Duration
	Fuel      int64 // units of one call
	Memory    int64 // bytes
	Instances int
	Open      bool // failure policy open instead of closed
}

// Server is a host that serves.
type Server interface {
	// Addr is the host and port where it serves plain HTTP.
	Addr() string
	// Reload replaces the filters under traffic. After an error the former ones go on.
	Reload(filters []Filter) error
	// Close ends the server. The next one with the same Data goes on from there.
	Close() error
}
