package host

import "sync"

// shared are parts that generations have in common: each is opened for the first generation that needs it
// and closed when the last one that had it has drained.
type shared[K comparable, V interface{ Close() error }] struct {
	mu   sync.Mutex
	live map[K]*use[K, V] // those that a new generation may take
}

// use is an open part with the number of generations that have it, guarded by the mutex of shared.
type use[K comparable, V any] struct {
	key   K
	part  V
	users int
}

// acquire returns the part under k, made by open if there is none to share. Only one goroutine acquires at
// a time, so no part is opened twice; others may release meanwhile.
func (s *shared[K, V]) acquire(k K, open func() (V, error)) (*use[K, V], error) {
	if u := s.join(k); u != nil {
		return u, nil
	}
	part, err := open()
	if err != nil {
		return nil, err
	}
	u := &use[K, V]{k, part, 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[K]*use[K, V]{}
	}
	s.live[k] = u
	return u, nil
}

func (s *shared[K, V]) join(k K) *use[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.live[k]
	if u != nil {
		u.users++
	}
	return u
}

// retire keeps a part from being shared with further generations.
func (s *shared[K, V]) retire(u *use[K, V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(u)
}

// release lets one user of a part go, and closes the part after its last.
func (s *shared[K, V]) release(u *use[K, V]) error {
	s.mu.Lock()
	u.users--
	last := u.users == 0
	if last {
		s.forget(u)
	}
	s.mu.Unlock()
	if !last {
		return nil
	}
	return u.part.Close()
}

// forget is called with the mutex held.
func (s *shared[K, V]) forget(u *use[K, V]) {
	if s.live[u.key] == u {
		delete(s.live, u.key)
	}
}
