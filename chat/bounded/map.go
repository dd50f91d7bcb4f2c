// Package bounded caches recent values in bounded room. Such
// a memory only saves work: a [Map] that is full forgets everything, and its owner has
// to do right without it.
package bounded

import (
	"cmp"
	"sync"
)

// most is how many entries a Map holds that says nothing else.
const most = 10_000

// Map is a map of up to Most entries; 0 is 10,000. The zero Map is ready. All methods
// may be called concurrently.
type Map[K comparable, V any] struct {
	Most int

	mu sync.Mutex
	of map[K]V
}

// Get returns the value of k.
func (m *Map[K, V]) Get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.of[k]
	return v, ok
}

// Take removes k and returns its value.
func (m *Map[K, V]) Take(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.of[k]
	delete(m.of, k)
	return v, ok
}

// Put remembers v of k.
func (m *Map[K, V]) Put(k K, v V) { m.Swap(k, func(V, bool) (V, bool) { return v, true }) }

// Add remembers k, and says whether it was not remembered already.
func (m *Map[K, V]) Add(k K) bool {
	return m.Swap(k, func(was V, ok bool) (V, bool) { return was, !ok })
}

// Swap replaces the value of k by the result of next; with false it stays. It returns
// whether it replaced. next must not call the Map.
func (m *Map[K, V]) Swap(k K, next func(was V, ok bool) (V, bool)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.of[k]
	v, change := next(was, ok)
	if !change {
		return false
	}
	if m.of == nil || len(m.of) >= cmp.Or(m.Most, most) {
		m.of = map[K]V{}
	}
	m.of[k] = v
	return true
}
