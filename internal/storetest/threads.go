package storetest

import (
	"fmt"
	"slices"
	"testing"

	"nod/chat"
	"nod/memory"
)

// A list of threads has each of its platforms' threads once, page by page, the one
// touched last first.
func threads(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	l, ok := s.(memory.Lister)
	if !ok {
		t.Skip("this store lists no threads")
	}
	want := map[chat.ThreadID]bool{}
	for i := range 25 {
		for _, platform := range []string{"slack", "discord", "other"} {
			thread := chat.ThreadID{Platform: platform, Channel: fmt.Sprintf("C%d", i%7), Root: fmt.Sprint(i)}
			if _, err := s.Put(t.Context(), thread, memory.Due{}, "e"+thread.String()); err != nil {
				t.Fatal(err)
			}
			want[thread] = platform != "other"
		}
	}
	var got []memory.Listed
	q := memory.ListQuery{Platforms: []string{"slack", "discord"}, Most: 7}
	for {
		page, err := l.Threads(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if len(page) > q.Most {
			t.Fatalf("%d threads on a page of %d", len(page), q.Most)
		}
		got, q.After = append(got, page...), page[len(page)-1]
	}
	seen := map[chat.ThreadID]bool{}
	for _, one := range got {
		if seen[one.Thread] || !want[one.Thread] {
			t.Errorf("%v is listed twice, or was not asked for", one.Thread)
		}
		seen[one.Thread] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d threads of 50", len(seen))
	}
	if !slices.IsSortedFunc(got, func(a, b memory.Listed) int {
		if a.Before(b) {
			return -1
		}
		return 1
	}) {
		t.Error("the list is not in order")
	}
	q = memory.ListQuery{Platforms: []string{"slack"}, Since: got[0].Touched.Add(3600e9), Most: 100}
	if page, err := l.Threads(t.Context(), q); err != nil || len(page) != 0 {
		t.Errorf("touched later than everything: %v, %v", page, err)
	}
}
