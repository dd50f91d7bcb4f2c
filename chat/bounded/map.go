// Package bounded caches recent values in bounded room. Such
// a memory only saves work: a [Map] that is full forgets its older half, and its owner has
// to do right without it.
package bounded

import (
	"cmp"
	"sync"
)

// most is how many entries a Map surely holds that says nothing else.
const most = 10_000

// Map is a map that holds the latest Most entries, and never more than twice as many; 0 is
// 10,000. The zero Map is ready. All methods may be called concurrently.
type Map[K comparable, V any] struct {
	Most int

	mu           sync.Mutex
	latest, past map[K]V
}

// Get returns the value of k.
func (m *Map[K, V]) Get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(k)
}

func (m *Map[K, V]) get(k K) (V, bool) {
	v, ok := m.latest[k]
	if !ok {
		v, ok = m.past[k]
	}
	return v, ok
}

// Take removes k and returns its value.
func (m *Map[K, V]) Take(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.get(k)
	delete(m.latest, k)
	delete(m.past, k)
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
	was, ok := m.get(k)
	v, change := next(was, ok)
	if !change {
		return false
	}
	if m.latest == nil || len(m.latest) >= cmp.Or(m.Most, most) {
		m.latest, m.past = map[K]V{}, m.latest
	}
	m.latest[k] = v
	return true
}
