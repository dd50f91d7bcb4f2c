package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// impatient is a context that ends after a growing number of tries, so that each call
// breaks off at another place.
func impatient(t *testing.T, try int) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), time.Duration(try)*100*time.Microsecond)
}

// A broken-off call can be repeated, and happens once.
func repeated(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("repeated")
	want := []memory.Body{says("first")}
	run := claim(t, s, th, want[0])
	for i := range 30 {
		b := says(number("m", i))
		for try := i % 8; ; try++ {
			ctx, cancel := impatient(t, try)
			_, err := s.Put(ctx, th, b, number("e", i))
			cancel()
			if err == nil {
				break
			}
		}
		own := memory.Step{Turn: 1, N: i}
		before := len(run.Log)
		for try := i % 8; ; try++ {
			ctx, cancel := impatient(t, try)
			_, err := s.Commit(ctx, run, own)
			cancel()
			if err == nil {
				break
			}
			if errors.Is(err, memory.ErrFenced) {
				t.Fatalf("Commit %d, try %d: %v; nobody else holds the thread", i, try, err)
			}
			if len(run.Log) != before {
				t.Fatalf("Commit %d failed (%v), and changed the run's log", i, err)
			}
		}
		want = append(want, own, b)
	}
	wantBodies(t, "the run's log", run.Log, want...)
	wantContiguous(t, run.Log)
	wantBodies(t, "log", read(t, s, th), want...)
}

// A release that was broken off is repeated. However it went, it was done once, and the
// thread is free in the end, and is claimed again when something comes.
func finishRepeated(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("finish")
	for i := range 20 {
		run := claim(t, s, th, says(number("m", i)))
		for try := i % 8; ; try++ {
			ctx, cancel := impatient(t, try)
			more, err := s.Finish(ctx, run, time.Time{}, memory.Ended{Turn: uint64(i)})
			cancel()
			if more {
				t.Fatalf("Finish %d says more", i)
			}
			if err == nil || errors.Is(err, memory.ErrFenced) && try > 0 {
				break
			}
		}
		wantFenced(t, s, run)
	}
	if n := len(read(t, s, th)); n != 40 {
		t.Errorf("%d entries, want 40", n)
	}
}

// A run that lost its thread still delivers the outcome of its work: once, however
// often it repeats it.
func putAfterFence(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("fenced"), says("one"))
	started := memory.Started{Call: "c1", Tool: "deploy", By: s.Self()}
	commit(t, s, run, started)
	if err := s.Handoff(patient(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	wantFenced(t, s, run)
	result := memory.Result{Call: "c1", Tool: "deploy", State: chat.CallDone, Text: "ok"}
	put(t, s, run.Thread, result, "result/c1")
	for range 3 {
		if fresh, err := s.Put(patient(t), run.Thread, result, "result/c1"); err != nil || fresh {
			t.Errorf("Put again = %v, %v, want not fresh", fresh, err)
		}
	}
	again := next(t, s)
	wantBodies(t, "log", again.Log, says("one"), started, result)
	if fresh, err := s.Put(patient(t), run.Thread, result, "result/c1"); err != nil || fresh {
		t.Errorf("Put after it was claimed = %v, %v, want not fresh", fresh, err)
	}
	commit(t, s, again, memory.Ended{Turn: 1})
	if fresh, err := s.Put(patient(t), run.Thread, result, "result/c1"); err != nil || fresh {
		t.Errorf("Put after it is in the log = %v, %v, want not fresh", fresh, err)
	}
	wantBodies(t, "log in the end", read(t, s, run.Thread), says("one"), started, result, memory.Ended{Turn: 1})
}

// Entries of the inbox have the same effects as a run's own, with the Seq that they
// get.
func inboxEffects(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("effects"), says("one"))
	commit(t, s, run, memory.Asked{Call: "c1", Tool: "deploy", Digest: "ab"})
	ask := posted(memory.AskName("c1"), "ask1")
	result := memory.Result{Call: "c0", Tool: "look", State: chat.CallDone, Text: "ok"}
	put(t, s, run.Thread, ask, "post/ask")
	put(t, s, run.Thread, result, "result/c0")
	putRef(t, s, reacts("ask1", "✅")) // waits, or comes in at once
	commit(t, s, run)
	wantBodies(t, "log", run.Log[2:], ask, result, reacts("ask1", "✅"))
	if got := collect(t, s.Pending(patient(t), platform)); len(got) != 1 || got[0].Ref != ref("ask1") {
		t.Errorf("pending: %v, want ask1", got)
	}
	if diff := cmp.Diff(linked(t, memory.Head{}, memory.EffectsOf(run.Thread, run.Log).Audit), collect(t, s.Audit(patient(t), run.Thread)), unhashed); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	put(t, s, run.Thread, memory.Decided{Call: "c1", Outcome: chat.Approved}, "decided/c1")
	finish(t, s, claimAfter(t, s, run), time.Time{})
	if got := collect(t, s.Pending(patient(t), platform)); len(got) != 0 {
		t.Errorf("pending after the decision: %v", got)
	}
}

// claimAfter hands a run on and claims its thread again.
func claimAfter(t *testing.T, s memory.Store, run *memory.Run) *memory.Run {
	t.Helper()
	if err := s.Handoff(patient(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	return next(t, s)
}

// A claim decides nothing: until a commit, the inbox entries have the same place in the
// log for the next claim. But the run may have acted on them, so they are nothing new
// any more.
func claimDecidesNothing(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("claim"), says("one"))
	if run.Now.Before(run.Log[0].At) || time.Since(run.Now).Abs() > time.Hour {
		t.Errorf("claimed at %v, after an entry of %v", run.Now, run.Log[0].At)
	}
	put(t, s, run.Thread, says("two"))
	again := claimAfter(t, s, run)
	wantBodies(t, "log", again.Log, says("one"), says("two"))
	if again.Claimed != 2 || again.Log[0].Seq != 1 {
		t.Errorf("Claimed = %d, and the log begins at %d, want 2 and 1", again.Claimed, again.Log[0].Seq)
	}
	put(t, s, run.Thread, says("three"))
	wantBodies(t, "arrived", commit(t, s, again, memory.Ended{Turn: 1}), says("three"))
	wantBodies(t, "log", read(t, s, run.Thread), says("one"), says("two"), memory.Ended{Turn: 1}, says("three"))
	again = claimAfter(t, s, again)
	if again.Claimed != 5 {
		t.Errorf("Claimed = %d, want 5", again.Claimed)
	}
	// A release keeps what it saw, too.
	put(t, s, run.Thread, says("four"))
	again = claimAfter(t, s, again)
	finish(t, s, again, time.Time{})
	log := read(t, s, run.Thread)
	wantContiguous(t, log)
	wantBodies(t, "log after a release without a commit", log, says("one"), says("two"), memory.Ended{Turn: 1}, says("three"), says("four"))
	wantNone(t, s, platform)
}

// A deadline that has passed is an entry once, whether the run that saw it
// commits, releases, or is handed on.
func dueOnce(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("due"), says("one"))
	finish(t, s, run, clock(run).Add(-time.Second))
	run = claimAfter(t, s, next(t, s))
	wantBodies(t, "log", run.Log, says("one"), memory.Due{})
	finish(t, s, run, clock(run).Add(-time.Second))
	run = next(t, s)
	wantBodies(t, "log", run.Log, says("one"), memory.Due{}, memory.Due{})
	commit(t, s, run, memory.Ended{Turn: 1})
	run = claimAfter(t, s, run)
	want := []memory.Body{says("one"), memory.Due{}, memory.Due{}, memory.Ended{Turn: 1}}
	wantBodies(t, "log", run.Log, want...)
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
	wantBodies(t, "log in the end", read(t, s, run.Thread), want...)
}

// Two processes that both think that they have a thread: one log comes of it. Of
// two commits on one log the second is refused, whoever has the lease.
func oneLog(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	if in.Replica == nil {
		t.Skip("the store serves one process")
	}
	other := in.Replica(t).Store
	const threads = 6
	old := map[chat.ThreadID]*memory.Run{}
	for i := range threads {
		run := claim(t, in.Store, thread(number("t", i)), says("one"))
		old[run.Thread] = run
	}
	in.Crash()
	for i := range threads {
		run := next(t, other)
		try := func(s memory.Store, run *memory.Run, by string) bool {
			_, err := s.Commit(patient(t), run, memory.Started{Call: "c1", By: by})
			if err != nil && !errors.Is(err, memory.ErrFenced) {
				t.Errorf("Commit of %s: %v", by, err)
			}
			return err == nil
		}
		var won []string
		tries := []func(){
			func() {
				if try(in.Store, old[run.Thread], "old") {
					won = append(won, "old")
				}
			},
			func() {
				if try(other, run, "new") {
					won = append(won, "new")
				}
			},
		}
		tries[i%2]()
		tries[1-i%2]()
		if len(won) != 1 || i%2 == 1 && won[0] != "new" {
			t.Errorf("commits of %q were taken, the first of them only is to be", won)
			continue
		}
		wantBodies(t, "log", read(t, other, run.Thread), says("one"), memory.Started{Call: "c1", By: won[0]})
	}
}
