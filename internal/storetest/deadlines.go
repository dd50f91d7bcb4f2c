package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// soon is how far ahead the suite sets deadlines that it then waits for.
const soon = 60 * time.Millisecond

// clock is the store's clock as far as the run has seen it.
func clock(run *memory.Run) time.Time { return run.Log[len(run.Log)-1].At }

// A deadline wakes the thread when it has passed, not before, once, as a Due.
func due(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("due"), says("one"))
	wakeAt := clock(run).Add(soon)
	finish(t, s, run, wakeAt)
	run = next(t, s)
	wantBodies(t, "log", run.Log, says("one"), memory.Due{})
	if at := clock(run); at.Before(wakeAt.Truncate(time.Millisecond)) {
		t.Errorf("due at %v, before the deadline %v", at, wakeAt)
	}
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// A deadline that has passed already wakes at once.
func duePast(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("past"), says("one"))
	finish(t, s, run, clock(run).Add(-time.Hour))
	wantBodies(t, "log", next(t, s).Log, says("one"), memory.Due{})
}

// Only the deadline of the last Finish counts. Two threads of one channel have
// deadlines of their own.
func dueReplaced(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	var run *memory.Run
	var first time.Time
	for ahead := soon; run == nil || slices.Contains(bodies(run.Log), memory.Body(memory.Due{})); ahead *= 2 {
		// On a slow machine the deadline may pass before the next claim: then another
		// thread has more time.
		run = claim(t, s, thread("replaced"+ahead.String()), says("one"))
		first = clock(run).Add(ahead)
		finish(t, s, run, first)
		run = claim(t, s, run.Thread, says("two"))
	}
	finish(t, s, run, time.Time{})
	other := claim(t, s, thread("other"), says("other"))
	finish(t, s, other, first.Add(soon))
	got := next(t, s)
	if got.Thread != other.Thread {
		t.Errorf("claimed %v, want %v", got.Thread, other.Thread)
	}
	wantBodies(t, "log", got.Log, says("other"), memory.Due{})
	wantNone(t, s, platform)
	wantBodies(t, "log of the first", read(t, s, run.Thread), says("one"), says("two"))
}

// A deadline outlives the process that set it.
func dueAfterCrash(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	run := claim(t, in.Store, thread("crash"), says("one"))
	finish(t, in.Store, run, clock(run).Add(soon))
	in.Crash()
	wantBodies(t, "log", next(t, in.Reopen(t).Store).Log, says("one"), memory.Due{})
}

// A thread untouched for longer than Keep is erased, with its files and its
// pending approvals, and leaves a tombstone in the audit log; a thread that begins again goes on counting.
func keep(t *testing.T, open Open) {
	s := open(t, Options{Keep: 300 * time.Millisecond}).Store
	th := thread("keep")
	run := claim(t, s, th, wrote("m1", "one"))
	name, err := s.PutBlob(patient(t), th, []byte("content"))
	if err != nil {
		t.Fatalf("PutBlob: %v", err)
	}
	early := thread("a file, and no message yet")
	alone, err := s.PutBlob(patient(t), early, []byte("content"))
	if err != nil {
		t.Fatalf("PutBlob: %v", err)
	}
	commit(t, s, run, posted(memory.AskName("1.1"), "ask1"), memory.Vote{Call: "1.1", Verdict: memory.Approve, Reason: "late"})
	last := run.Log[len(run.Log)-1].Seq
	finish(t, s, run, time.Time{})
	eventually(t, "the thread is erased", func() bool {
		_, err := s.Blob(patient(t), th, name)
		return err != nil && len(read(t, s, th)) == 0 &&
			len(collect(t, s.Pending(patient(t), platform))) == 0 &&
			len(collect(t, s.Watermarks(patient(t), platform, time.Time{}, 0))) == 0
	})
	eventually(t, "the audit log says so, behind what it had", func() bool {
		lines := collect(t, s.Audit(patient(t), th))
		return len(lines) == 2 && lines[0].Event == "ignored" && lines[1].Event == "forgot" && lines[1].Outcome != "" && lines[1].Prev == lines[0].Hash
	})
	eventually(t, "the file without a message is erased", func() bool {
		_, err := s.Blob(patient(t), early, alone)
		return errors.Is(err, memory.ErrNoBlob)
	})
	again := claim(t, s, th, says("again"))
	wantBodies(t, "log", again.Log, says("again"))
	if again.Log[0].Seq <= last {
		t.Errorf("the thread begins again at %d, but %d was used before", again.Log[0].Seq, last)
	}
	if again.Token == run.Token {
		t.Errorf("token %q twice", run.Token)
	}
}

// A thread with a deadline, such as one with a waiting approval, is not erased before
// its Due.
func keepWaits(t *testing.T, open Open) {
	s := open(t, Options{Keep: 300 * time.Millisecond}).Store
	waits := claim(t, s, thread("waits"), wrote("m1", "one"))
	commit(t, s, waits, posted(memory.AskName("1.1"), "ask1"))
	at := clock(waits).Add(900 * time.Millisecond)
	finish(t, s, waits, at)
	rests := claim(t, s, thread("rests"), wrote("m2", "two"))
	finish(t, s, rests, time.Time{})
	eventually(t, "the thread that was touched later is erased", func() bool { return len(read(t, s, rests.Thread)) == 0 })
	if n := len(collect(t, s.Pending(patient(t), platform))); n != 1 {
		t.Errorf("%d approvals wait, want 1", n)
	}
	run := next(t, s)
	wantBodies(t, "log", run.Log, wrote("m1", "one"), posted(memory.AskName("1.1"), "ask1"), memory.Due{})
	if run.Thread != waits.Thread || clock(run).Before(at.Truncate(time.Millisecond)) {
		t.Errorf("claimed %v at %v, want %v at %v", run.Thread, clock(run), waits.Thread, at)
	}
}

// A put entry is there after a crash.
func crashBeforeClaim(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	put(t, in.Store, thread("a"), says("one"), "e1")
	putRef(t, in.Store, reacts("m1", "✅"))
	in.Crash()
	s := in.Reopen(t).Store
	if fresh, err := s.Put(patient(t), thread("a"), says("one"), "e1"); err != nil || fresh {
		t.Errorf("Put of a known id = %v, %v, want not fresh", fresh, err)
	}
	run := next(t, s)
	wantBodies(t, "log", run.Log, says("one"))
	wantBodies(t, "arrived", commit(t, s, run, posted("steps/1", "m1")), reacts("m1", "✅"))
}

// A run that a crash cut off is claimed again, with all that it committed.
func crashWhileHeld(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	run := claim(t, in.Store, thread("cut"), says("one"))
	started := memory.Started{Call: "1.1", Tool: "deploy", Digest: "ab"}
	commit(t, in.Store, run, started)
	put(t, in.Store, run.Thread, says("two"))
	in.Crash()
	s := in.Reopen(t).Store
	again := next(t, s)
	wantBodies(t, "log", again.Log, says("one"), started, says("two"))
	if again.Token == run.Token {
		t.Errorf("token %q twice", run.Token)
	}
	wantFenced(t, in.Store, run)
	finish(t, s, again, time.Time{})
	wantNone(t, s, platform)
	wantBodies(t, "log in the end", read(t, s, run.Thread), says("one"), started, says("two"))
}

// Close releases what is held: the next process need not wait for a lease.
func closeLetsGo(t *testing.T, open Open) {
	in := open(t, Options{Lease: 10 * Patience})
	claim(t, in.Store, thread("a"), says("one"))
	put(t, in.Store, thread("b"), says("two"))
	if err := in.Store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := in.Store.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	s := in.Reopen(t).Store
	got := map[chat.ThreadID]bool{}
	for range 2 {
		got[next(t, s).Thread] = true
	}
	if len(got) != 2 {
		t.Errorf("claimed %v, want both threads", got)
	}
}

// One process dies beside another, which takes over its runs after the lease.
func takeOver(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	if in.Replica == nil {
		t.Skip("the store serves one process")
	}
	other := in.Replica(t).Store
	ctx := patient(t)
	calls := []func(*memory.Run) error{
		func(r *memory.Run) error { _, err := in.Store.Commit(ctx, r, says("late")); return err },
		func(r *memory.Run) error { _, err := in.Store.Finish(ctx, r, time.Time{}); return err },
		func(r *memory.Run) error { return in.Store.Handoff(ctx, r) },
	}
	var held []*memory.Run
	for i := range 3 {
		held = append(held, claim(t, in.Store, thread(number("t", i)), says("one")))
	}
	in.Crash()
	got := map[chat.ThreadID]bool{}
	for range held {
		run := next(t, other)
		got[run.Thread] = true
		wantBodies(t, "log", run.Log, says("one"))
		wantBodies(t, "arrived", commit(t, other, run, memory.Ended{Turn: 1}))
		late := held[slices.IndexFunc(held, func(r *memory.Run) bool { return r.Thread == run.Thread })]
		if err := calls[len(got)%len(calls)](late); !errors.Is(err, memory.ErrFenced) {
			t.Errorf("late call %d: %v, want %v", len(got), err, memory.ErrFenced)
		}
	}
	for _, run := range held {
		wantFenced(t, in.Store, run)
		wantBodies(t, "log", read(t, other, run.Thread), says("one"), memory.Ended{Turn: 1})
	}
	if len(got) != len(held) {
		t.Errorf("took over %v, want %d threads", got, len(held))
	}
}

// A run is held for as long as its process lives, however long it does nothing.
func notTakenOver(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	if in.Replica == nil {
		t.Skip("the store serves one process")
	}
	run := claim(t, in.Store, thread("held"), says("one"))
	other := in.Replica(t).Store
	for range 20 { // of 150 ms: more than a lease
		wantNone(t, other, platform)
	}
	wantHeld(t, run)
	wantBodies(t, "arrived", commit(t, in.Store, run, memory.Ended{Turn: 1}))
	finish(t, in.Store, run, time.Time{})
}
