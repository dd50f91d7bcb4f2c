package tools

import (
	"slices"
	"sync"
	"time"
)

// Recent remembers the newest values by key, for some time. What has not been used
// for longest goes first. It is safe for concurrent use.
type Recent[K comparable, V any] struct {
	most int
	life time.Duration // 0: until it has to make room
	now  func() time.Time

	mu    sync.Mutex
	items []recentItem[K, V] // the last used one last
}

type recentItem[K comparable, V any] struct {
	key   K
	value V
	since time.Time
}

// NewRecent makes one for up to most values, of which each is kept for so long; 0
// is until room has to be made.
func NewRecent[K comparable, V any](most int, keep time.Duration, now func() time.Time) *Recent[K, V] {
	return &Recent[K, V]{most: most, life: keep, now: now}
}

// Find gives the value of a key that is remembered.
func (l *Recent[K, V]) Find(key K) (value V, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	item, ok := l.take(key)
	if !ok || l.life > 0 && l.now().Sub(item.since) > l.life {
		return value, false
	}
	l.items = append(l.items, item)
	return item.value, true
}

// Keep remembers the value of a key.
func (l *Recent[K, V]) Keep(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take(key)
	l.items = append(l.items, recentItem[K, V]{key, value, l.now()})
	l.items = slices.Delete(l.items, 0, max(0, len(l.items)-l.most))
}

// take takes an item out. The caller holds the lock.
func (l *Recent[K, V]) take(key K) (item recentItem[K, V], ok bool) {
	at := slices.IndexFunc(l.items, func(i recentItem[K, V]) bool { return i.key == key })
	if at < 0 {
		return item, false
	}
	item = l.items[at]
	l.items = slices.Delete(l.items, at, at+1)
	return item, true
}
