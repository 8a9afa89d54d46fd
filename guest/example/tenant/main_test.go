package main

import (
	"os"
	"strings"
	"testing"

	"github.com/porchedge/porch/guest/guesttest"
)

func TestTenant(t *testing.T) {
	h := guesttest.New(t)
	if !h.Configure(porchConfigure, `{"limit": 1}`) {
		t.Fatal(h.Rejections)
	}
	for _, step := range []struct {
		name, tenant string
		status       int // 0 goes on
	}{
		{"first", "a", 0},
		{"over the limit", "a", 429},
		{"another tenant", "b", 0},
		{"no tenant", "", 401},
	} {
		r := guesttest.Request{}
		if step.tenant != "" {
			r.Header = []guesttest.Field{{Name: "X-Tenant", Value: step.tenant}}
		}
		if x := h.Request(porchRequest, r); x.Failed || x.Status != step.status {
			t.Errorf("%s: status %d, failed %t; want %d", step.name, x.Status, x.Failed, step.status)
		}
	}
}

// The guide shows this program as it is.
func TestGuideShowsThisProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(source), "\n\nimport (")
	if !strings.Contains(string(guide), program) {
		t.Error("guest/README.md does not show guest/example/tenant/main.go")
	}
}
