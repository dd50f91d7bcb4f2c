package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// A turn that begins, of which only the run knows.
var (
	begun = memory.Opened{Turn: 1, Name: "1-a", Requester: ada}
	looks = memory.Step{Turn: 1, N: 1, Seen: 1, Calls: []memory.Call{{ID: "1.1", Tool: "look", Args: "{}"}}}
	found = memory.Result{Call: "1.1", Tool: "look", State: chat.CallDone, Text: "it"}
)

// What a run holds is in nobody's log but its own, until its next commit puts it there in
// front of its own bodies, as it was held.
func holds(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("held"), says("one"))
	at := run.Now.Add(1234567 * time.Nanosecond)
	held := append(run.Hold(at, begun, looks), run.Hold(at.Add(time.Millisecond), found)...)
	held = append([]memory.Entry(nil), held...)
	wantContiguous(t, run.Log)
	wantBodies(t, "the run's log", run.Log, says("one"), begun, looks, found)
	wantBodies(t, "what others read", read(t, s, run.Thread), says("one"))

	put(t, s, run.Thread, says("two"))
	answer := memory.Step{Turn: 1, N: 2, Seen: 1, Answer: "done"}
	wantBodies(t, "arrived", commit(t, s, run, answer), says("two"))
	want := []memory.Body{says("one"), begun, looks, found, answer, says("two")}
	wantBodies(t, "the run's log after the commit", run.Log, want...)
	if run.Late != 0 {
		t.Errorf("%d entries are held after a commit", run.Late)
	}
	if diff := cmp.Diff(held, run.Log[1:4]); diff != "" {
		t.Errorf("what was held changed by the commit (-held +log):\n%s", diff)
	}
	finish(t, s, run, time.Time{})
	put(t, s, run.Thread, says("three"))
	again := next(t, s)
	if diff := cmp.Diff(run.Log, again.Log[:len(run.Log)]); diff != "" {
		t.Errorf("the log changed between two claims (-before +after):\n%s", diff)
	}
	if lines := collect(t, s.Audit(patient(t), run.Thread)); len(lines) != 1 || lines[0].Call != found.Call {
		t.Errorf("the audit log holds %v, want the result that was held", lines)
	}

	again.Hold(again.Now, memory.Ended{Turn: 1})
	wantBodies(t, "arrived by a commit of nothing else", commit(t, s, again))
	again.Hold(again.Now, begun)
	again.Drop()
	wantBodies(t, "log without what was dropped", again.Log, append(want, says("three"), memory.Ended{Turn: 1})...)
	finish(t, s, again, time.Time{})
	wantBodies(t, "read", read(t, s, run.Thread), append(want, says("three"), memory.Ended{Turn: 1})...)
}

// What a run holds in the end goes along when it lets go, and what waited for a message
// that it makes known wakes the thread. While something lies in the inbox it stays held.
func holdsAndFinishes(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("goes"), says("one"))
	run.Hold(run.Now, begun)
	put(t, s, run.Thread, says("two"))
	if more, err := s.Finish(patient(t), run, time.Time{}); err != nil || !more {
		t.Fatalf("Finish = %v, %v, want more", more, err)
	}
	wantBodies(t, "arrived", commit(t, s, run), says("two"))
	wantBodies(t, "log", run.Log, says("one"), begun, says("two"))

	run.Hold(run.Now, posted("answer/1-a", "a1"), memory.Ended{Turn: 1})
	finish(t, s, run, time.Time{})
	if run.Late != 0 {
		t.Errorf("%d entries are held by a run that ended", run.Late)
	}
	want := []memory.Body{says("one"), begun, says("two"), posted("answer/1-a", "a1"), memory.Ended{Turn: 1}}
	wantBodies(t, "read", read(t, s, run.Thread), want...)
	wantNone(t, s, platform)
	putRef(t, s, reacts("a1", "👍"))
	run = next(t, s)
	wantBodies(t, "log of the next claim", run.Log, append(want, reacts("a1", "👍"))...)

	putRef(t, s, reacts("a2", "👍")) // before the message is known
	run.Hold(run.Now, posted("answer/2-b", "a2"))
	more, err := s.Finish(patient(t), run, time.Time{})
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	if more {
		commit(t, s, run)
	} else {
		run = next(t, s)
	}
	wantBodies(t, "log of whoever sees it", run.Log, append(want, reacts("a1", "👍"), posted("answer/2-b", "a2"), reacts("a2", "👍"))...)
}

// A process that dies has never decided what it held.
func holdsAndDies(t *testing.T, open Open) {
	in := open(t, Options{Lease: 100 * time.Millisecond})
	run := claim(t, in.Store, thread("dies"), says("one"))
	run.Hold(run.Now, begun, looks)
	in.Crash()
	s := in.Reopen(t).Store
	again := next(t, s)
	wantBodies(t, "log of the next process", again.Log, says("one"))
	commit(t, s, again, memory.Ended{Turn: 1})
}
