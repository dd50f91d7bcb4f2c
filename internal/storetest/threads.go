package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// A rewritten log is the same for every reader and for the next run, wherever its
// entries stand: kept through `forget`, in the log, in the inbox. A run that holds the
// thread is fenced, and no cache keeps the old text. Where edit changes nothing, nothing
// happens.
func rewritten(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("rewritten")
	run := claim(t, s, th, wrote("m1", "secret"))
	started := memory.Started{Call: "1.1", Tool: "secret"}
	commit(t, s, run, started, memory.Forgot{By: ada, Before: 3})
	commit(t, s, run, says("secret"), memory.Trimmed{Before: 4})
	finish(t, s, run, time.Time{})
	rewrite := func(edit func([]memory.Entry) []memory.Body) {
		t.Helper()
		if err := s.Rewrite(patient(t), th, edit); err != nil {
			t.Fatalf("Rewrite: %v", err)
		}
	}
	rewrite(func(log []memory.Entry) []memory.Body { return make([]memory.Body, len(log)) })
	run = claim(t, s, th, says("more"))
	commit(t, s, run, memory.Opened{Turn: 5})
	put(t, s, th, says("secret"))
	rewrite(func(log []memory.Entry) []memory.Body {
		out := make([]memory.Body, len(log))
		for i, e := range log {
			switch b := e.Body.(type) {
			case memory.Message:
				if b.Text == "secret" {
					out[i] = says("gone")
				}
			case memory.Started:
				out[i] = memory.Started{Call: "1.1", Tool: "gone"}
			}
		}
		return out
	})
	want := []memory.Body{
		memory.Started{Call: "1.1", Tool: "gone"},
		memory.Forgot{By: ada, Before: 3},
		says("gone"),
		memory.Trimmed{Before: 4},
		says("more"),
		memory.Opened{Turn: 5},
		says("gone"),
	}
	wantBodies(t, "read", read(t, s, th), want...)
	if _, err := s.Commit(patient(t), run, memory.Ended{Turn: 5}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit of a run from before: %v, want ErrFenced", err)
	}
	run = next(t, s)
	wantBodies(t, "log of the next run", run.Log, want[2:]...)
	finish(t, s, run, time.Time{})
	if err := s.Rewrite(patient(t), thread("none"), func(log []memory.Entry) []memory.Body { return make([]memory.Body, len(log)) }); err != nil {
		t.Errorf("Rewrite of a thread that there is not: %v", err)
	}
}
