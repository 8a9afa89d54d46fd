package guest_test

import (
	"testing"

	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

func TestClaim(t *testing.T) {
	h := guesttest.New(t)
	set := []guesttest.Field{
		{Name: "auth/claim.sub", Value: "u"}, {Name: "auth/claim.plan", Value: ""}, {Name: "auth/subject", Value: "x"},
		{Name: "auth/claim.org", Value: "a"}, {Name: "other/claim.org", Value: "b"}, {Name: "other/xclaim.role", Value: "r"},
	}
	on(t, h, guesttest.Request{Properties: set}, func(r *guest.Request) {
		for name, want := range map[string]string{"sub": "u", "plan": "", "org": "", "subject": "", "ub": "", "role": "", "": ""} {
			value, ok := r.Claim(name)
			if string(value) != want || ok != (want != "") {
				t.Errorf("%q: %q %v", name, value, ok)
			}
		}
	})
	on(t, h, guesttest.Request{}, func(r *guest.Request) {
		if value, ok := r.Claim("sub"); ok {
			t.Errorf("%q", value)
		}
	})
}
