package edge

import (
	"testing"

	"github.com/porchedge/porch/host/edge/route"
)

// privateTable has a route of its own for /private, and takes requests for the host "a" alone.
func privateTable(t *testing.T, f Chain) *Table {
	t.Helper()
	table, err := NewTable([]Route{
		{Name: "a", Rule: route.Rule{Host: "a", Path: "/"}, Chain: f},
		{Name: "private", Rule: route.Rule{Host: "a", Path: "/private"}, Chain: f},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
