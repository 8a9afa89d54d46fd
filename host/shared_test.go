package host

import (
	"errors"
	"testing"
)

// part records how often it was closed.
type part struct{ closed int }

func (p *part) Close() error {
	p.closed++
	return nil
}

func TestShared(t *testing.T) {
	opened := 0
	open := func() (*part, error) {
		opened++
		return &part{}, nil
	}
	take := func(s *shared[string, *part], k string) *use[string, *part] {
		t.Helper()
		u, err := s.acquire(k, open)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	t.Run("two users share a part, and the last closes it", func(t *testing.T) {
		var s shared[string, *part]
		opened = 0
		a, b, other := take(&s, "k"), take(&s, "k"), take(&s, "other")
		if a != b || a == other || opened != 2 {
			t.Fatalf("opened %d parts, want one for each key", opened)
		}
		s.release(a)
		if a.part.closed != 0 {
			t.Fatal("closed under its second user")
		}
		s.release(b)
		if a.part.closed != 1 {
			t.Fatalf("closed %d times, want once", a.part.closed)
		}
		if take(&s, "k") == a {
			t.Fatal("a closed part was shared")
		}
	})
	t.Run("a retired part serves its users and nobody else", func(t *testing.T) {
		var s shared[string, *part]
		a := take(&s, "k")
		s.retire(a)
		b := take(&s, "k")
		if a == b || a.part.closed != 0 {
			t.Fatal("want a second part beside the retired one, which stays open")
		}
		s.release(a)
		if a.part.closed != 1 || take(&s, "k") != b {
			t.Fatal("the end of the retired part touched the live one")
		}
	})
	t.Run("what cannot be opened is not there", func(t *testing.T) {
		var s shared[string, *part]
		broken := errors.New("broken")
		if _, err := s.acquire("k", func() (*part, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
		take(&s, "k")
	})
}
