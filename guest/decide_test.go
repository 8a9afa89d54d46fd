package guest_test

import (
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest"
	"github.com/porchedge/porch/guest/guesttest"
)

func declare(t *testing.T, h *guesttest.Host) (a, b guest.Limit, once guest.Once) {
	t.Helper()
	if !h.Configure(func() int32 {
		return guest.Configure(func(c *guest.Config) {
			a = c.Limit("a", abi.LimitSpec{Algorithm: "fixed-window", Limit: 3, WindowMS: 1000})
			b = c.Limit("b", abi.LimitSpec{Algorithm: "fixed-window", Limit: 1, WindowMS: 1000})
			once = c.Once("once", abi.OnceSpec{TTLMS: 1, MaxWaitMS: 1, MaxWaiters: 1})
			c.HoldBody("Idempotency-Key", 10)
		})
	}, `{}`) {
		t.Fatal(h.Rejections)
	}
	return a, b, once
}

func TestCharge(t *testing.T) {
	h := guesttest.New(t)
	a, _, _ := declare(t, h)
	on(t, h, guesttest.Request{}, func(r *guest.Request) {
		if v, d := r.Charge(a, []byte("k"), 2); d != guest.Allowed || v.Used != 2 || v.Remaining != 1 || v.ResetAfter != 1000 {
			t.Errorf("%v %+v", d, v)
		}
		if v, d := r.Charge(a, []byte("k"), 2); d != guest.Refused || v.Allowed || v.Used != 2 || v.RetryAfter != 1000 {
			t.Errorf("%v %+v", d, v)
		}
		if v, d := r.Charge(a, []byte("k"), 4); d != guest.Refused || v.RetryAfter != -1 {
			t.Errorf("%v %+v", d, v)
		}
		if _, d := r.Charge(a, nil, 1); d.Err() != guest.ErrInvalid {
			t.Errorf("an empty key: %v", d)
		}
		h.FailNext(abi.Capacity)
		if _, d := r.Charge(a, []byte("k"), 1); d.Err() != guest.ErrCapacity {
			t.Errorf("%v", d)
		}
	})
	h.Advance(time.Second)
	on(t, h, guesttest.Request{}, func(r *guest.Request) {
		if v, d := r.Charge(a, []byte("k"), 1); d != guest.Allowed || v.Used != 1 || d.Err() != nil {
			t.Errorf("%v %+v", d, v)
		}
	})
}

func TestCountIsAllOrNone(t *testing.T) {
	h := guesttest.New(t)
	a, b, _ := declare(t, h)
	on(t, h, guesttest.Request{}, func(r *guest.Request) {
		charges := []guest.Charge{
			{Limit: a, Key: []byte("k"), Cost: 1}, {Limit: b, Key: []byte("k"), Cost: 2}, {Limit: b, Key: []byte("l"), Cost: 2, Max: 5},
		}
		verdicts := make([]guest.Verdict, 3)
		if d := r.Count(charges, verdicts); d != guest.Refused || !verdicts[0].Allowed || verdicts[1].Allowed || !verdicts[2].Allowed {
			t.Errorf("%v %+v", d, verdicts)
		}
		charges[1].Cost = 1
		if d := r.Count(charges, verdicts); d != guest.Allowed || verdicts[0].Used != 1 || verdicts[2].Limit != 5 {
			t.Errorf("%v %+v", d, verdicts)
		}
		if d := r.Count(charges, verdicts[:2]); d.Err() != guest.ErrInvalid {
			t.Errorf("too few verdicts: %v", d)
		}
		if d := r.Count(nil, nil); d.Err() != guest.ErrInvalid {
			t.Errorf("no charges: %v", d)
		}
	})
}

func TestBegin(t *testing.T) {
	h := guesttest.New(t)
	_, _, once := declare(t, h)
	begin := func(target string, want guest.Claim) *guesttest.Exchange {
		t.Helper()
		return on(t, h, guesttest.Request{Method: "POST", Target: target}, func(r *guest.Request) {
			digest, err := r.Digest(abi.DigestPath)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Begin(once, []byte("k"), digest); got != want {
				t.Errorf("%v, want %v", got, want)
			}
			if again := r.Begin(once, []byte("k"), digest); again.Err() != guest.ErrWrongPhase {
				t.Errorf("a second claim: %v", again)
			}
			if _, err := r.Digest(0); err != guest.ErrInvalid {
				t.Errorf("no parts: %v", err)
			}
		})
	}
	owner := begin("/a", guest.Execute)
	begin("/a", guest.Joined)
	begin("/b", guest.Mismatch)
	h.Finish(owner, true)
	begin("/a", guest.Replay)
}

func TestClocks(t *testing.T) {
	h := guesttest.New(t)
	wall := h.Wall.UnixMilli()
	h.Advance(time.Second)
	on(t, h, guesttest.Request{}, func(*guest.Request) {
		if guest.Wall() != wall+1000 || guest.StoreTime() != 1000 {
			t.Errorf("%d %d", guest.Wall(), guest.StoreTime())
		}
	})
}
