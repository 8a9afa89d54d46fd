// Package config turns a YAML file or command-line flags into one immutable Config. Every mistake is named
// with its line and column. It reads files and environment, and nothing else.
package config

import (
	"net/netip"
	"time"
)

// Config is a whole configuration, checked: names refer to things that are there, numbers are in bounds.
type Config struct {
	File           string // path of the file; empty if made from flags
	Listen         string
	TrustedProxies []netip.Prefix
	Store          Store
	Pool           Pool
	Admin          Admin
	Server         Server
	Upstreams      []Upstream
	Filters        []Filter
	Routes         []Route
}

// Store is where rows live.
type Store struct {
	Path         string        // directory
	Stall        time.Duration // a ticket older than this means that the disk stalls
	SyncInterval time.Duration // durability async
}

// Pool sizes the actor pool.
type Pool struct {
	Shards  int
	Mailbox int
}

// Admin is the operator's own listener; empty Listen means none.
type Admin struct {
	Listen string
}

// Server bounds what clients may do.
type Server struct {
	MaxHead        int           // bytes of request line and fields
	MaxBody        int64         // bytes of a request body, streamed or not
	MaxConnections int           // open client connections
	IdleTimeout    time.Duration // between requests and between bytes of one
	MinRate        int64         // bytes per second of a body, averaged
	Drain          time.Duration // after the first signal
}

// Upstream is where requests go.
type Upstream struct {
	Name    string
	Targets []string      // http://host:port
	Timeout time.Duration // from the request's last byte sent to the response's head, and between bytes of its body
	Host    HostPolicy
}

// HostPolicy says which Host an upstream receives.
type HostPolicy uint8

// The host policies.
const (
	HostClient HostPolicy = iota // as the client sent it
	HostTarget                   // the target's
)

// Filter is one filter: a module with a configuration, under a name.
type Filter struct {
	Name      string
	Module    string // "builtin:NAME" or an absolute path
	Config    []byte // JSON, as the guest will see it
	Timeout   time.Duration
	Fuel      int64 // units of one call
	Memory    int64 // bytes
	Instances int
	OnFailure OnFailure
	// ModuleAt is where the file names the module; zero if made from flags.
	ModuleAt Position
	// At maps a JSON pointer into Config to its place in the file, or to that of the nearest value
	// around it; zero if made from flags.
	At func(pointer string) Position
}

// OnFailure says what happens to a request whose filter failed.
type OnFailure uint8

// The failure policies.
const (
	FailClosed OnFailure = iota // 503
	FailOpen                    // goes on without the filter; counted
)

// Route sends requests through a chain to an upstream.
type Route struct {
	Name     string   // host and path as configured, for metrics
	Host     string   // empty for any
	Path     string   // prefix of whole segments, canonical
	Methods  []string // empty for any
	Filters  []string
	Upstream string
}

// Position is a place in the file; zero if there is none.
type Position struct {
	Line, Column int
}
