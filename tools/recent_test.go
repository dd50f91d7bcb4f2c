package tools

import (
	"testing"
	"time"
)

func TestLRU(t *testing.T) {
	now := time.Unix(0, 0)
	l := NewRecent[string, int](2, time.Minute, func() time.Time { return now })
	l.Keep("a", 1)
	l.Keep("b", 2)
	l.Find("a")
	l.Keep("c", 3)
	_, b := l.Find("b")
	a, _ := l.Find("a")
	now = now.Add(2 * time.Minute)
	_, late := l.Find("a")
	if b || a != 1 || late || len(l.items) != 1 {
		t.Errorf("b %v, a %d, late %v", b, a, late)
	}
}
