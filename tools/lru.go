package tools

import (
	"container/list"
	"sync"
	"time"
)

// lru remembers the newest values by key, for some time. What has not been used
// for longest goes first. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	most int
	keep time.Duration // 0: until it has to make room
	now  func() time.Time

	mu    sync.Mutex
	order *list.List // of *lruItem, the last used one first
	items map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key   K
	value V
	since time.Time
}

func newLRU[K comparable, V any](most int, keep time.Duration, now func() time.Time) *lru[K, V] {
	return &lru[K, V]{most: most, keep: keep, now: now, order: list.New(), items: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.items[key]
	if !ok {
		return value, false
	}
	item, _ := e.Value.(*lruItem[K, V])
	if l.keep > 0 && l.now().Sub(item.since) > l.keep {
		l.drop(e)
		return value, false
	}
	l.order.MoveToFront(e)
	return item.value, true
}

func (l *lru[K, V]) put(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.items[key]; ok {
		l.drop(e)
	}
	l.items[key] = l.order.PushFront(&lruItem[K, V]{key, value, l.now()})
	for l.order.Len() > l.most {
		l.drop(l.order.Back())
	}
}

// drop forgets an item. The caller holds the lock.
func (l *lru[K, V]) drop(e *list.Element) {
	if item, ok := l.order.Remove(e).(*lruItem[K, V]); ok {
		delete(l.items, item.key)
	}
}
