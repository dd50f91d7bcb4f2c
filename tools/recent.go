package tools

import (
	"container/list"
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
	order *list.List // of *recentItem, the last used one first
	items map[K]*list.Element
}

type recentItem[K comparable, V any] struct {
	key   K
	value V
	since time.Time
}

// NewRecent makes one for up to most values, of which each is kept for so long; 0
// is until room has to be made.
func NewRecent[K comparable, V any](most int, keep time.Duration, now func() time.Time) *Recent[K, V] {
	return &Recent[K, V]{most: most, life: keep, now: now, order: list.New(), items: map[K]*list.Element{}}
}

// Find gives the value of a key that is remembered.
func (l *Recent[K, V]) Find(key K) (value V, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.items[key]
	if !ok {
		return value, false
	}
	item, _ := e.Value.(*recentItem[K, V])
	if l.life > 0 && l.now().Sub(item.since) > l.life {
		l.drop(e)
		return value, false
	}
	l.order.MoveToFront(e)
	return item.value, true
}

// Keep remembers the value of a key.
func (l *Recent[K, V]) Keep(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.items[key]; ok {
		l.drop(e)
	}
	l.items[key] = l.order.PushFront(&recentItem[K, V]{key, value, l.now()})
	for l.order.Len() > l.most {
		l.drop(l.order.Back())
	}
}

// drop forgets an item. The caller holds the lock.
func (l *Recent[K, V]) drop(e *list.Element) {
	if item, ok := l.order.Remove(e).(*recentItem[K, V]); ok {
		delete(l.items, item.key)
	}
}
