package bounded_test

import (
	"sync"
	"testing"

	"nod/chat/bounded"
)

// A full map forgets its older half.
func TestMap(t *testing.T) {
	m := bounded.Map[int, string]{Most: 2}
	if _, ok := m.Get(1); ok {
		t.Error("an empty map remembers")
	}
	m.Put(1, "one")
	m.Put(2, "two")
	if v, ok := m.Get(1); v != "one" || !ok {
		t.Errorf("1 is %q, %v", v, ok)
	}
	if m.Swap(1, func(was string, ok bool) (string, bool) { return was + "!", !ok }) {
		t.Error("a swap that says no changed something")
	}
	m.Put(3, "three")
	if v, ok := m.Get(2); v != "two" || !ok {
		t.Errorf("2 is %q, %v: one of the latest is forgotten", v, ok)
	}
	m.Put(4, "four")
	m.Put(5, "five")
	if _, ok := m.Get(2); ok {
		t.Error("a full map forgets nothing")
	}
	if v, ok := m.Take(3); v != "three" || !ok {
		t.Errorf("3 is %q, %v", v, ok)
	}
	if _, ok := m.Take(3); ok {
		t.Error("it is taken twice")
	}
}

// Many may remember at once, and the room stays bounded.
func TestBound(t *testing.T) {
	m := bounded.Map[int, bool]{Most: 10}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { m.Add(i) })
	}
	all.Wait()
	left := 0
	for i := range 100 {
		if _, ok := m.Get(i); ok {
			left++
		}
	}
	if left < 10 || left > 20 {
		t.Errorf("it remembers %d", left)
	}
}
