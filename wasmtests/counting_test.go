package wasmtests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// verdicts reads the result of a count that was decided.
func verdicts(t *testing.T, result string) []abi.Verdict {
	t.Helper()
	_, text, found := strings.Cut(result, ":")
	if !found {
		t.Fatalf("nothing was decided: %s", result)
	}
	var all []abi.Verdict
	for told := range strings.FieldsSeq(text) {
		var v abi.Verdict
		if _, err := fmt.Sscanf(strings.ReplaceAll(told, "/", " "), "%t %d %d %d %d %d %d",
			&v.Allowed, &v.Used, &v.Limit, &v.Remaining, &v.ResetAfter, &v.ResetAt, &v.RetryAfter); err != nil {
			t.Fatalf("%s: %v", told, err)
		}
		all = append(all, v)
	}
	return all
}

// verdicts runs one count in filter p.
func (s *site) verdicts(command string) []abi.Verdict {
	s.t.Helper()
	return verdicts(s.t, s.run(command)[0])
}

// counting is filter p with limits of the numbers given, over an hour.
func counting(limits ...int64) kit.Filter {
	var declare []string
	for i, l := range limits {
		declare = append(declare, policy(abi.KindLimit, fmt.Sprintf("l%d", i), fixed(l, hour)))
	}
	return probing("p", declare...)
}

func result(got []string) string {
	n, _, _ := strings.Cut(got[0], ":")
	return n
}

const (
	allowed = "0"
	refused = "1"
)

var _ = clause("COUNT-1", func(t *testing.T) {
	s := open(t, counting(10, 5))
	got := s.run(count(charge(0, "k", 3, 0), charge(1, "k", 2, 0)))
	want(t, []string{result(got)}, allowed)
	v := verdicts(t, got[0])
	if v[0].Used != 3 || v[0].Remaining != 7 || v[1].Used != 2 || v[1].Limit != 5 || v[1].Remaining != 3 {
		t.Errorf("got %+v", v)
	}
	for _, one := range v {
		away := time.Until(time.UnixMilli(one.ResetAt)) - time.Duration(one.ResetAfter)*time.Millisecond
		if !one.Allowed || one.RetryAfter != 0 || one.ResetAfter < 1 || one.ResetAfter > hour || away.Abs() > time.Minute {
			t.Errorf("got %+v, which resets %v away", one, away)
		}
	}
})

var _ = clause("COUNT-2", func(t *testing.T) {
	s := open(t, counting(10, 1))
	s.run(count(charge(1, "k", 1, 0)))
	got := s.run(count(charge(0, "k", 3, 0), charge(1, "k", 1, 0)))
	want(t, []string{result(got)}, refused)
	v := verdicts(t, got[0])
	if !v[0].Allowed || v[0].Used != 0 || v[0].Remaining != 10 {
		t.Errorf("the one with room: %+v", v[0])
	}
	if v[1].Allowed || v[1].Used != 1 || v[1].Remaining != 0 || v[1].RetryAfter < 1 {
		t.Errorf("the one without: %+v", v[1])
	}
	if v := s.verdicts(count(charge(0, "k", 1, 0))); v[0].Used != 1 {
		t.Errorf("charged all the same: %+v", v[0])
	}
})

var _ = clause("COUNT-3", func(t *testing.T) {
	s := open(t, counting(5))
	s.run(count(charge(0, "k", 3, 0)))
	want(t, []string{result(s.run("times 20 " + count(charge(0, "k", 3, 0))))}, refused)
	want(t, []string{result(s.run(count(charge(0, "k", 2, 0))))}, allowed)
})

var _ = clause("COUNT-4", func(t *testing.T) {
	s := open(t, counting(40))
	var all []<-chan answer
	for range 64 {
		all = append(all, s.sending(asking("p", count(charge(0, "k", 1, 0)))))
	}
	passed := 0
	for _, a := range all {
		if result(s.results(<-a, "p")) == allowed {
			passed++
		}
	}
	if passed != 40 {
		t.Errorf("%d of 64 passed a limit of 40", passed)
	}
})

var _ = clause("COUNT-5", func(t *testing.T) {
	s := open(t, counting(10, 20, 30))
	v := s.verdicts(count(charge(2, "k", 1, 0), charge(0, "k", 1, 0), charge(1, "k", 1, 0)))
	if v[0].Limit != 30 || v[1].Limit != 10 || v[2].Limit != 20 {
		t.Errorf("got %+v", v)
	}
	want(t, s.run(count(charge(0, "k", 0, 0))), invalid)
})

var _ = clause("COUNT-6", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "l", fixed(abi.MaxCost, hour)), policy(abi.KindOnce, "o", once())))
	var most []string
	for i := range abi.MaxCharges {
		most = append(most, charge(0, fmt.Sprint(i), 1, 0))
	}
	want(t, []string{result(s.run(count(most...)))}, allowed)
	want(t, s.run("raw count 1024 0 2048", "raw count 1024 65 2048", "raw count 1024 4294967295 2048",
		count(charge(0, "k", 0, 0)), count(charge(0, "k", -1, 0)), count(charge(0, "k", abi.MaxCost+1, 0)), count(charge(0, "k", 1, -1)),
		count(charge(0, "k", 1, abi.MaxCost+1)), count(charge(0, "", 1, 0)), count("0|@1025|1|0"), count(charge(1, "k", 1, 0)),
		count(charge(2, "k", 1, 0)), count(charge(4294967295, "k", 1, 0))),
		invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid)
	want(t, []string{result(s.run(count("0|@1024|9007199254740992|9007199254740992")))}, allowed)
})

var _ = clause("COUNT-7", func(t *testing.T) {
	s := open(t, counting(10))
	if v := s.verdicts(count(charge(0, "k", 12, 20))); !v[0].Allowed || v[0].Limit != 20 || v[0].Remaining != 8 {
		t.Errorf("got %+v", v)
	}
	if v := s.verdicts(count(charge(0, "k", 1, 0))); v[0].Allowed || v[0].Limit != 10 || v[0].Used != 12 || v[0].Remaining != 0 {
		t.Errorf("got %+v", v)
	}
	if v := s.verdicts(count(charge(0, "k", 8, 20))); !v[0].Allowed || v[0].Used != 20 {
		t.Errorf("got %+v", v)
	}
})

var _ = clause("COUNT-8", func(t *testing.T) {
	s := open(t, counting(10))
	got := s.run(count(charge(0, "k", 11, 0)))
	if v := verdicts(t, got[0]); result(got) != refused || v[0].RetryAfter != -1 {
		t.Errorf("got %s", got)
	}
})

var _ = clause("COUNT-9", func(t *testing.T) {
	s := open(t, probing("p", policy(abi.KindLimit, "l", fixed(1, 400))))
	first := s.verdicts(count(charge(0, "k", 1, 0)))
	if first[0].ResetAfter < 1 || first[0].ResetAfter > 400 {
		t.Errorf("got %+v", first)
	}
	a := s.await(asking("p", count(charge(0, "k", 1, 0))), func(a answer) bool { return result(s.results(a, "p")) == allowed })
	if v := verdicts(t, s.results(a, "p")[0]); v[0].Used != 1 || v[0].ResetAt < first[0].ResetAt {
		t.Errorf("got %+v after %+v", v, first)
	}
})

var _ = clause("COUNT-10", func(t *testing.T) {
	lasting := probing("p", policy(abi.KindLimit, "l", strings.Replace(fixed(10, hour), `"none"`, `"sync"`, 1)))
	s := open(t, lasting)
	s.run(count(charge(0, "k", 4, 0)))
	if v := s.crashed(lasting).verdicts(count(charge(0, "k", 1, 0))); v[0].Used != 5 {
		t.Errorf("after a crash: %+v", v)
	}
})

var _ = clause("COUNT-11", func(t *testing.T) {
	s := open(t, counting(1))
	a := s.send(asking("p", count(charge(0, "k", 2, 0)), count(charge(0, "", 1, 0))))
	s.wantStatus(a, 200)
	s.up.wantCount(t, 1)
})

var _ = clause("COUNT-12", func(t *testing.T) {
	// One shard with room for one flight: the second one is SATURATED.
	for _, open := range []bool{false, true} {
		f := oncePolicy("p", once())
		f.Open = open
		s := openWith(t, kit.Setup{Filters: []kit.Filter{f}, Shards: 1, Mailbox: 1})
		release := s.up.held(answers(200, "up"))
		first := s.sending(keyed("a", "d"))
		s.up.awaitOne(t)
		s.up.does(nil)
		a := s.send(keyed("b", "d"))
		want(t, s.results(a, "p"), saturated)
		if open {
			s.wantStatus(a, 200)
			s.up.wantCount(t, 2)
		} else {
			s.wantRefused(a)
			s.up.wantCount(t, 1)
		}
		s.wantStatus(s.send(asking("p", begin(0, "b", "d"), respond(418))), 418)
		release()
		want(t, s.results(<-first, "p"), execute)
	}
})

var _ = clause("COUNT-13", func(t *testing.T) {
	s := open(t, counting(10))
	got := s.run(count(charge(0, "k", 6, 0), charge(0, "k", 6, 0)))
	want(t, []string{result(got)}, refused)
	v := s.verdicts(count(charge(0, "k", 4, 0), charge(0, "k", 6, 0)))
	if !v[0].Allowed || !v[1].Allowed || v[1].Used != 10 {
		t.Errorf("got %+v", v)
	}
})

var _ = clause("COUNT-14", func(t *testing.T) {
	s := open(t, counting(10))
	for _, key := range []string{"k", "K", "k ", " k", "k\x00", "kk"} {
		if v := s.verdicts(count(charge(0, key, 1, 0))); v[0].Used != 1 {
			t.Errorf("key %q: %+v", key, v)
		}
	}
	if v := s.verdicts(count(charge(0, "k", 1, 0))); v[0].Used != 2 {
		t.Errorf("the same key: %+v", v)
	}
})
