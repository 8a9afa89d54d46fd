package metrics

import "sync"

// sources are the open parts of one kind whose state is read when the page is asked for. Several may have
// one name: those that drain after a reload beside the live one.
type sources[K comparable, S any] struct {
	mu   sync.Mutex
	open map[*source[K, S]]struct{}
}

type source[K comparable, S any] struct {
	name  K
	stats func() S
}

// add shows a part until remove is called. remove says whether it was the last of its name.
func (s *sources[K, S]) add(name K, stats func() S) (remove func() (last bool)) {
	added := &source[K, S]{name, stats}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*source[K, S]]struct{}{}
	}
	s.open[added] = struct{}{}
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, added)
		for other := range s.open {
			if other.name == name {
				return false
			}
		}
		return true
	}
}

// sum adds up the state of the open parts by name.
func (s *sources[K, S]) sum(add func(a, b S) S) map[K]S {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[K]S{}
	for part := range s.open {
		sums[part.name] = add(sums[part.name], part.stats())
	}
	return sums
}
