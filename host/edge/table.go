package edge

import (
	"net/netip"
	"sync/atomic"

	"github.com/porchedge/porch/host/edge/chain"
	"github.com/porchedge/porch/host/edge/peer"
	"github.com/porchedge/porch/host/edge/route"
	"github.com/porchedge/porch/host/exchange"
)

// Chain is what a route's requests run through: see package chain, whose Chain implements it.
type Chain interface {
	Start(x *exchange.Exchange)
	Advance(x *exchange.Exchange) chain.Step
	BodyCap(x *exchange.Exchange) int64
	Finish(x *exchange.Exchange) error
	End(x *exchange.Exchange)
}

// Route sends the requests of a rule through a chain.
type Route struct {
	Name string // for metrics
	route.Rule
	Chain Chain
}

// Table is the routes of one generation of the configuration. It is immutable; it counts the requests
// that run on it.
type Table struct {
	routes  []Route
	rules   *route.Table
	proxies peer.Proxies
	// users is the requests that began on this table and have not ended, and one for being in service.
	users   atomic.Int64
	drained chan struct{}
}

// NewTable makes a table. An error says which routes take the same requests.
func NewTable(routes []Route, trusted []netip.Prefix) (*Table, error) {
	rules := make([]route.Rule, len(routes))
	for i, r := range routes {
		rules[i] = r.Rule
	}
	chosen, err := route.New(rules)
	if err != nil {
		return nil, err
	}
	t := &Table{routes: routes, rules: chosen, proxies: trusted, drained: make(chan struct{})}
	t.users.Store(1)
	return t, nil
}

// Drained is closed once the table was swapped out and every request that began on it has ended.
func (t *Table) Drained() <-chan struct{} { return t.drained }

// enter takes the table in service for one request, which leaves it at its end; nil if there is none.
func (s *Server) enter() *Table {
	for {
		t := s.table.Load()
		if t == nil || t.join() {
			return t
		}
	}
}

// join is false where the table has drained; another one is in service then.
func (t *Table) join() bool {
	for {
		n := t.users.Load()
		if n == 0 {
			return false
		}
		if t.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (t *Table) leave() {
	if t != nil && t.users.Add(-1) == 0 {
		close(t.drained)
	}
}

// retire takes the table out of service.
func (t *Table) retire() { t.leave() }
