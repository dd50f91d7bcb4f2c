package storetest

import (
	"fmt"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// elsewhere is a message of another channel: of several, so that a store that
// parts channels has them apart.
func elsewhere(n int) chat.MessageRef {
	return chat.MessageRef{Platform: platform, Channel: fmt.Sprintf("elsewhere%d", n), ID: "copy"}
}

func on(ref chat.MessageRef, emoji string) memory.Reaction {
	return memory.Reaction{Reaction: chat.Reaction{On: ref, By: chat.User{ID: "U1"}, Emoji: emoji}}
}

func referTo(t *testing.T, s memory.Full, ref chat.MessageRef, th chat.ThreadID) {
	t.Helper()
	if err := s.Refer(patient(t), ref, th); err != nil {
		t.Fatalf("Refer: %v", err)
	}
}

// A reaction on a message that stands in another channel finds its thread once that
// is referred to, and however often it is; an event of it is known like any other.
func refer(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("refer"), says("one"))
	var want []memory.Body
	for n := range 5 {
		referTo(t, s, elsewhere(n), run.Thread)
		referTo(t, s, elsewhere(n), run.Thread)
		want = append(want, on(elsewhere(n), "👍"))
		putRef(t, s, on(elsewhere(n), "👍"), "e")
		if fresh, err := s.PutRef(patient(t), elsewhere(n), on(elsewhere(n), "👍"), "e"); err != nil || fresh {
			t.Errorf("PutRef of a known event = %v, %v, want not fresh", fresh, err)
		}
	}
	wantBodies(t, "arrived", commit(t, s, run), want...)
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// Reactions on such a message before anybody referred to its thread enter afterwards,
// once and in order, also if the process died before its commit.
func referWaiting(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("refer"), says("one"))
	putRef(t, s, on(elsewhere(1), "👍"))
	putRef(t, s, on(elsewhere(1), "❌"))
	wantBodies(t, "arrived before", commit(t, s, run))
	referTo(t, s, elsewhere(1), run.Thread)
	referTo(t, s, elsewhere(1), run.Thread)
	wantBodies(t, "arrived", commit(t, s, run), on(elsewhere(1), "👍"), on(elsewhere(1), "❌"))
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// An event that came before anybody referred to the thread, and is delivered once more
// after that, is known: a vote that was taken back meanwhile does not come again.
func referDelivered(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("refer"), says("one"))
	var want []memory.Body
	for n := range 5 {
		add, remove := on(elsewhere(n), "👍"), on(elsewhere(n), "👍")
		remove.Removed = true
		putRef(t, s, add, "add")
		referTo(t, s, elsewhere(n), run.Thread)
		putRef(t, s, remove, "remove")
		for id, body := range map[string]memory.Body{"add": add, "remove": remove} {
			if fresh, err := s.PutRef(patient(t), elsewhere(n), body, id); err != nil || fresh {
				t.Errorf("PutRef of %q once more = %v, %v, want not fresh", id, fresh, err)
			}
		}
		want = append(want, add, remove)
	}
	wantBodies(t, "arrived", commit(t, s, run), want...)
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// A reaction on such a message wakes a thread at rest.
func referAtRest(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("refer"), says("one"))
	for n := range 5 {
		referTo(t, s, elsewhere(n), run.Thread)
	}
	commit(t, s, run)
	finish(t, s, run, time.Time{})
	for n := range 5 {
		putRef(t, s, on(elsewhere(n), "❌"))
		run = next(t, s)
		wantBodies(t, "log", run.Log[len(run.Log)-1:], on(elsewhere(n), "❌"))
		commit(t, s, run)
		finish(t, s, run, time.Time{})
	}
}
