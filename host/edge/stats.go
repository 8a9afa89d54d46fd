package edge

import "sync/atomic"

// load is what the server holds just now.
type load struct {
	requests, bodies, bytes atomic.Int64
}

// Stats is the state of a server at one moment.
type Stats struct {
	Connections    int   // open
	MaxConnections int   // their bound
	TurnedAway     int64 // connections that came above the bound, ever
	Requests       int64 // in flight: from the head to the end of the response
	HeldBodies     int64 // request bodies in memory
	HeldBytes      int64 // their size
}

// Stats returns the state of the server.
func (s *Server) Stats() Stats {
	return Stats{
		Connections:    s.conns.Open(),
		MaxConnections: s.cfg.Server.MaxConnections,
		TurnedAway:     s.conns.Refused(),
		Requests:       s.load.requests.Load(),
		HeldBodies:     s.load.bodies.Load(),
		HeldBytes:      s.load.bytes.Load(),
	}
}
