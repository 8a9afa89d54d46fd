package route

import (
	"errors"
	"testing"
)

func TestChoose(t *testing.T) {
	table, err := New([]Rule{
		0: {Path: "/"},
		1: {Path: "/v1"},
		2: {Path: "/v1/admin", Methods: []string{"GET"}},
		3: {Host: "api.example.com", Path: "/v1", Methods: []string{"GET", "POST"}},
		4: {Host: "api.example.com", Path: "/v1/items", Methods: []string{"GET"}},
		5: {Host: "API2.example.com", Path: "/"},
		6: {Path: "/both", Methods: []string{"POST"}},
		7: {Path: "/both"},
		8: {Host: "[::1]", Path: "/six"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, authority, path, method string
		rule                          int
		canonical                     string
		err                           error
	}{
		{"root", "a", "/", "GET", 0, "/", nil},
		{"whole segments", "a", "/v1", "GET", 1, "/v1", nil},
		{"below", "a", "/v1/x", "GET", 1, "/v1/x", nil},
		{"slash at the end", "a", "/v1/", "GET", 1, "/v1/", nil},
		{"not half a segment", "a", "/v1x", "GET", 0, "/v1x", nil},
		{"longest", "a", "/v1/admin/x", "GET", 2, "/v1/admin/x", nil},
		{"method decides", "a", "/v1/admin/x", "POST", 1, "/v1/admin/x", nil},
		{"methods before any", "a", "/both", "POST", 6, "/both", nil},
		{"any after methods", "a", "/both", "GET", 7, "/both", nil},
		{"host before longer path", "api.example.com", "/v1/admin", "GET", 3, "/v1/admin", nil},
		{"host without regard to case", "API.Example.Com", "/v1", "GET", 3, "/v1", nil},
		{"host of a rule likewise", "api2.example.com", "/v1", "GET", 5, "/v1", nil},
		{"host with port", "api.example.com:8443", "/v1", "GET", 3, "/v1", nil},
		{"host with a dot at its end", "api.example.com.", "/v1", "GET", 3, "/v1", nil},
		{"IPv6 host", "[::1]:80", "/six", "GET", 8, "/six", nil},
		{"longest of the host", "api.example.com", "/v1/items/1", "GET", 4, "/v1/items/1", nil},
		{"shorter of the host for the method", "api.example.com", "/v1/items/1", "POST", 3, "/v1/items/1", nil},
		{"any host where the host has no method", "api.example.com", "/v1/items", "PUT", 1, "/v1/items", nil},
		{"no authority", "", "/v1", "GET", 1, "/v1", nil},
		{"asterisk", "a", "*", "OPTIONS", 0, "*", nil},
		{"other spelling, same rule", "a", "//v2/./%78", "GET", 0, "/v2/x", nil},
		{"two slashes, other rule", "a", "//v1", "GET", 0, "//v1", ErrAmbiguous},
		{"encoded, other rule", "a", "/%761", "GET", 0, "/v1", ErrAmbiguous},
		{"encoded slash, other rule", "a", "/v1%2fadmin", "GET", 0, "/v1/admin", ErrAmbiguous},
		{"encoded slash, same rule", "a", "/v1/a%2Fb//c", "GET", 1, "/v1/a/b/c", nil},
		{"dots out of a rule", "a", "/v1/../x", "GET", 0, "/x", ErrAmbiguous},
		{"dots into a rule", "a", "/x/../v1", "GET", 0, "/v1", ErrAmbiguous},
		{"encoded dots", "a", "/v1/%2e%2e/x", "GET", 0, "/x", ErrAmbiguous},
		{"decoded once", "a", "/%2576%31", "GET", 0, "/%761", nil},
		{"bad escape", "a", "/%7", "GET", 0, "", ErrPath},
		{"long host", string(make([]byte, 300)), "/", "GET", 0, "/", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule, canonical, err := table.Choose([]byte(tt.authority), []byte(tt.path), tt.method)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && (rule != tt.rule || string(canonical) != tt.canonical) {
				t.Errorf("rule %d, path %q", rule, canonical)
			}
		})
	}
}

func TestChooseNone(t *testing.T) {
	table, err := New([]Rule{{Host: "a", Path: "/x", Methods: []string{"GET"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ authority, path, method string }{
		{"b", "/x", "GET"}, {"a", "/y", "GET"}, {"a", "/x", "POST"}, {"a", "*", "OPTIONS"}, {"", "/x", "GET"},
	} {
		if _, _, err := table.Choose([]byte(tt.authority), []byte(tt.path), tt.method); !errors.Is(err, ErrNone) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestNewRefusesOverlap(t *testing.T) {
	tests := []struct {
		name  string
		rules []Rule
		ok    bool
	}{
		{"same path", []Rule{{Path: "/a"}, {Path: "/a"}}, false},
		{"same path but for the slash", []Rule{{Path: "/a"}, {Path: "/a/"}}, false},
		{"same host in other case", []Rule{{Host: "A", Path: "/"}, {Host: "a", Path: "/"}}, false},
		{"a method in common", []Rule{{Path: "/", Methods: []string{"GET", "PUT"}}, {Path: "/", Methods: []string{"PUT"}}}, false},
		{"no method in common", []Rule{{Path: "/", Methods: []string{"GET"}}, {Path: "/", Methods: []string{"PUT"}}}, true},
		{"some methods and any", []Rule{{Path: "/", Methods: []string{"GET"}}, {Path: "/"}}, true},
		{"other host", []Rule{{Host: "a", Path: "/"}, {Path: "/"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.rules); (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestChooseAllocatesNothing guards the path of every request.
func TestChooseAllocatesNothing(t *testing.T) {
	table, err := New([]Rule{{Path: "/"}, {Host: "api.example.com", Path: "/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	authority, path := []byte("API.example.com:80"), []byte("/v1/items/1")
	if n := testing.AllocsPerRun(100, func() { table.Choose(authority, path, "GET") }); n != 0 { //nolint:errcheck // matches
		t.Errorf("%v allocations", n)
	}
}
