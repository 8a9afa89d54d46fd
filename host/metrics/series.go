package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series keeps the children of label values that a hot path asks for again and again. A look-up takes no
// lock and allocates nothing; a new child copies the map, which is as small as the configuration.
type series[K comparable, V any] struct {
	live atomic.Pointer[map[K]V]
	mu   sync.Mutex // held by writers
}

// get returns the child of k, made by make where it is new.
func (s *series[K, V]) get(k K, make func(K) V) V {
	if m := s.live.Load(); m != nil {
		if v, ok := (*m)[k]; ok {
			return v
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.copy()
	v, ok := next[k]
	if !ok {
		v = make(k)
		next[k] = v
		s.live.Store(&next)
	}
	return v
}

// forget lets the children go for which gone is true.
func (s *series[K, V]) forget(gone func(K) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.copy()
	maps.DeleteFunc(next, func(k K, _ V) bool { return gone(k) })
	s.live.Store(&next)
}

func (s *series[K, V]) copy() map[K]V {
	next := map[K]V{}
	if m := s.live.Load(); m != nil {
		maps.Copy(next, *m)
	}
	return next
}
