package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// Entries are put, claimed, committed to, released, and found again, in order.
func order(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("order")
	put(t, s, th, says("one"))
	put(t, s, th, says("two"))
	run := next(t, s)
	wantBodies(t, "log of the claim", run.Log, says("one"), says("two"))
	if run.Thread != th {
		t.Errorf("thread %v, want %v", run.Thread, th)
	}
	if run.Waited < 0 || run.Waited > Patience {
		t.Errorf("waited %v", run.Waited)
	}
	opened := memory.Opened{Turn: 1, Requester: ada}
	step := memory.Step{Turn: 1, N: 1, Seen: 2, Answer: "done", Took: time.Second}
	if arrived := commit(t, s, run, opened, step); len(arrived) != 0 {
		t.Errorf("arrived %v, want nothing", arrived)
	}
	want := []memory.Body{says("one"), says("two"), opened, step}
	wantBodies(t, "log after the commit", run.Log, want...)
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)

	put(t, s, th, says("three"))
	again := next(t, s)
	wantBodies(t, "log of the second claim", again.Log, append(want, says("three"))...)
	if diff := cmp.Diff(run.Log, again.Log[:len(run.Log)]); diff != "" {
		t.Errorf("the log changed between two claims (-before +after):\n%s", diff)
	}
}

// A run's Kept is there for the next run of the thread in this process, once, unless
// the log's beginning changed.
func kept(t *testing.T, open Open) {
	in := open(t, Options{})
	s := in.Store
	run := claim(t, s, thread("kept"), says("one"))
	again := func(want any, bodies ...memory.Body) {
		t.Helper()
		commit(t, s, run, bodies...)
		finish(t, s, run, time.Time{})
		put(t, s, run.Thread, says("more"))
		if run = next(t, s); run.Kept != want && (run.Kept != nil || !in.Forgets) {
			t.Errorf("behind %v: kept %v, want %v", bodies, run.Kept, want)
		}
	}
	if run.Kept != nil {
		t.Errorf("before anything was left: kept %v", run.Kept)
	}
	run.Kept = "first"
	again("first", memory.Ended{Turn: 1})
	run.Kept = nil
	again(nil, memory.Ended{Turn: 2})
	run.Kept = "trimmed"
	again(nil, memory.Trimmed{Before: run.Log[2].Seq})
	run.Kept = "second"
	again("second", memory.Ended{Turn: 3})
	run.Kept = "forgotten"
	again(nil, memory.Forgot{Before: run.Log[len(run.Log)-1].Seq})
	run.Kept = "of this thread"
	commit(t, s, run, memory.Ended{Turn: 4})
	finish(t, s, run, time.Time{})
	if other := claim(t, s, thread("other"), says("one")); other.Kept != nil {
		t.Errorf("another thread has %v", other.Kept)
	}
}

// Entries that arrive while the run is held enter the log behind what it commits.
func arrivedAfterCommitted(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("arrived"), says("one"))
	put(t, s, run.Thread, says("two"))
	put(t, s, run.Thread, says("three"))
	step := memory.Step{Turn: 1, N: 1}
	arrived := commit(t, s, run, step)
	wantBodies(t, "arrived", arrived, says("two"), says("three"))
	wantBodies(t, "log", run.Log, says("one"), step, says("two"), says("three"))
	if diff := cmp.Diff(run.Log[2:], arrived); diff != "" {
		t.Errorf("arrived is not the end of the log (-log +arrived):\n%s", diff)
	}

	put(t, s, run.Thread, says("four"))
	wantBodies(t, "arrived without a body", commit(t, s, run), says("four"))
	wantBodies(t, "arrived when nothing did", commit(t, s, run))
}

// Finish does not let go while something is in the inbox, which it takes into the log
// behind the run's own entries.
func finishSaysMore(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("more"), says("one"))
	put(t, s, run.Thread, says("two"))
	more, err := s.Finish(patient(t), run, time.Time{}, memory.Ended{Turn: 1})
	if err != nil || !more {
		t.Fatalf("Finish = %v, %v, want more", more, err)
	}
	wantNone(t, s, platform)
	wantBodies(t, "log", run.Log, says("one"), memory.Ended{Turn: 1}, says("two"))
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// A Finish with bodies has the effects of any commit, and the next run claims a log with
// them. A reaction that waited for a message which they make known keeps the run.
func finishCommits(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("last"), says("one"))
	commit(t, s, run, memory.Asked{Call: "c1", Tool: "deploy", Digest: "ab"})
	putRef(t, s, reacts("ask1", "✅"))
	ask := posted(memory.AskName("c1"), "ask1")
	more, err := s.Finish(patient(t), run, time.Time{}, ask)
	if err != nil || !more {
		t.Fatalf("Finish = %v, %v, want more", more, err)
	}
	wantBodies(t, "log", run.Log[2:], ask, reacts("ask1", "✅"))
	if got := collect(t, s.Pending(patient(t), platform)); len(got) != 1 {
		t.Errorf("pending: %v, want ask1", got)
	}
	decided := memory.Decided{Call: "c1", Outcome: chat.Approved}
	more, err = s.Finish(patient(t), run, time.Time{}, decided, memory.Ended{Turn: 1})
	if err != nil || more {
		t.Fatalf("Finish = %v, %v, want no more", more, err)
	}
	wantFenced(t, s, run)
	wantBodies(t, "log", run.Log[4:], decided, memory.Ended{Turn: 1})
	if got := collect(t, s.Pending(patient(t), platform)); len(got) != 0 {
		t.Errorf("pending after the decision: %v", got)
	}
	if diff := cmp.Diff(linked(t, memory.Head{}, memory.EffectsOf(run.Thread, run.Log).Audit), collect(t, s.Audit(patient(t), run.Thread)), unhashed); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	again := claim(t, s, run.Thread, says("two"))
	if diff := cmp.Diff(run.Log, again.Log[:len(run.Log)]); diff != "" {
		t.Errorf("the next run claims another log (-before +now):\n%s", diff)
	}
}

// A held thread that is woken is not claimed beside its run, and the wake-up is not
// lost when the run ends.
func wokenWhileHeld(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("held"), says("one"))
	for i := range 5 {
		put(t, s, run.Thread, says(number("more ", i)))
	}
	wantNone(t, s, platform)
	if got := commit(t, s, run); len(got) != 5 {
		t.Errorf("%d entries arrived, want 5", len(got))
	}
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
	wantBodies(t, "log", claim(t, s, run.Thread, says("last")).Log[6:], says("last"))
}

// An entry any of whose event ids is known changes nothing at all.
func eventIDs(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("ids")
	put(t, s, th, says("one"), "e1", "m1")
	for _, ids := range [][]string{{"e1"}, {"m1"}, {"e1", "m1"}, {"e2", "m1"}, {"e1", "m2"}} {
		fresh, err := s.Put(patient(t), th, says("again"), ids...)
		if err != nil || fresh {
			t.Errorf("Put with ids %q = %v, %v, want not fresh", ids, fresh, err)
		}
	}
	// e2 and m2 came only together with known ones, which changed nothing.
	put(t, s, th, says("two"), "e2")
	put(t, s, th, says("three"), "m2")
	put(t, s, th, says("no id"))
	put(t, s, th, says("no id"))
	run := next(t, s)
	wantBodies(t, "log", run.Log, says("one"), says("two"), says("three"), says("no id"), says("no id"))
	fresh, err := s.Put(patient(t), th, says("again"), "e1")
	if err != nil || fresh {
		t.Errorf("Put of a known id while held = %v, %v, want not fresh", fresh, err)
	}
	finish(t, s, run, time.Time{})
	if fresh, err = s.Put(patient(t), th, says("again"), "m2"); err != nil || fresh {
		t.Errorf("Put of a known id after the end = %v, %v, want not fresh", fresh, err)
	}
	wantNone(t, s, platform)
}

// Seq starts at 1 and goes up by one, through claims, commits and arrivals.
func seqNeverSkips(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("seq")
	for i := range 5 {
		put(t, s, th, says(number("m", i)))
		run := next(t, s)
		put(t, s, th, says("meanwhile"))
		commit(t, s, run, memory.Opened{Turn: 1}, memory.Ended{Turn: 1})
		commit(t, s, run)
		commit(t, s, run, memory.Seen{Message: 1})
		finish(t, s, run, time.Time{})
	}
	log := read(t, s, th)
	wantContiguous(t, log)
	if len(log) != 25 || log[0].Seq != 1 {
		t.Errorf("%d entries from %d on, want 25 from 1 on", len(log), log[0].Seq)
	}
}

// At is the store's clock: of the Put for what came through the inbox, of the
// Commit for the rest, and the same for every reader.
func storesClock(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("clock"), wrote("m1", "sent long ago"))
	commit(t, s, run, memory.Opened{Turn: 1})
	put(t, s, run.Thread, says("two"))
	waits := read(t, s, run.Thread)
	commit(t, s, run, memory.Ended{Turn: 1})
	if got, want := run.Log[3].At, waits[2].At; !got.Equal(want) {
		t.Errorf("At of an arrived entry is %v, want that of the Put, %v", got, want)
	}
	for _, pair := range [][2]int{{0, 1}, {1, 2}, {1, 3}, {3, 2}} {
		if a, b := run.Log[pair[0]], run.Log[pair[1]]; b.At.Before(a.At) {
			t.Errorf("entry %d is of %v, before entry %d of %v", b.Seq, b.At, a.Seq, a.At)
		}
	}
	if d := time.Since(run.Log[0].At).Abs(); d > time.Hour {
		t.Errorf("the store's clock is %v away from this machine's", d)
	}
	if diff := cmp.Diff(run.Log, read(t, s, run.Thread)); diff != "" {
		t.Errorf("a reader sees another log (-run +read):\n%s", diff)
	}
}

// Claimed separates the new inbox entries of a claim from the earlier entries.
func claimed(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("claimed")
	put(t, s, th, says("one"))
	put(t, s, th, says("two"))
	run := next(t, s)
	wantClaimed := func(want uint64) {
		t.Helper()
		if run.Claimed != want {
			t.Errorf("Claimed = %d, want %d", run.Claimed, want)
		}
	}
	wantClaimed(1)
	commit(t, s, run, memory.Opened{Turn: 1})
	if err := s.Handoff(patient(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	run = next(t, s)
	wantClaimed(4) // nothing waited
	put(t, s, th, says("three"))
	commit(t, s, run, memory.Trimmed{Before: 3})
	finish(t, s, run, clock(run))
	run = next(t, s)
	wantClaimed(6)
	finish(t, s, run, time.Time{})
	run = claim(t, s, th, says("four"))
	wantClaimed(7)
}

// An entry of a kind that this build does not know comes back as it was.
func unknownKinds(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	later := memory.Unknown{Name: "later", Raw: json.RawMessage(`{"k":"later","v":7,"b":{"x":[1, 2],"é":null}}`)}
	run := claim(t, s, thread("unknown"), later)
	commit(t, s, run, later)
	finish(t, s, run, time.Time{})
	run = claim(t, s, run.Thread, says("\x00 \n ✅ \u2028 \"quoted\" 100%"))
	wantBodies(t, "log", run.Log, later, later, says("\x00 \n ✅ \u2028 \"quoted\" 100%"))
}

// An inbox may hold far more than one call's worth, and large entries.
func manyInTheInbox(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("many"), says("first"))
	const n = 1200
	var want []memory.Body
	for i := range n {
		b := says(number("m", i))
		if i%400 == 0 {
			b.Text += string(make([]byte, 64<<10))
		}
		want = append(want, b)
		put(t, s, run.Thread, b)
	}
	wantBodies(t, "arrived", commit(t, s, run), want...)
	finish(t, s, run, time.Time{})
	if got := claim(t, s, run.Thread, says("last")).Log; len(got) != n+2 {
		t.Errorf("%d entries in the log, want %d", len(got), n+2)
	}
}

// Next claims threads of the platforms that it is asked for, and no others.
func platforms(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	on := func(p string) chat.ThreadID { return chat.ThreadID{Platform: p, Channel: "C", Root: "r"} }
	put(t, s, on("discord"), says("d"))
	wantNone(t, s, "slack")
	wantNone(t, s, "slack", "terminal")
	put(t, s, on("slack"), says("s"))
	got := map[string]bool{}
	for range 2 {
		run, err := s.Next(patient(t), "slack", "discord")
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		got[run.Thread.Platform] = true
	}
	if diff := cmp.Diff(map[string]bool{"slack": true, "discord": true}, got); diff != "" {
		t.Errorf("platforms claimed (-want +got):\n%s", diff)
	}
}

// A thread is held by one run at a time; others are free meanwhile.
func oneHolder(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	a := claim(t, s, thread("a"), says("a"))
	put(t, s, a.Thread, says("more"))
	b := claim(t, s, thread("b"), says("b"))
	wantNone(t, s, platform)
	wantBodies(t, "arrived at b", commit(t, s, b))
	wantBodies(t, "arrived at a", commit(t, s, a), says("more"))
}

// Each claim has a token of its own, in whatever process.
func tokens(t *testing.T, open Open) {
	in := open(t, Options{})
	s := in.Store
	seen := map[string]bool{"": true}
	th := thread("tokens")
	newer := func(run *memory.Run) {
		t.Helper()
		if seen[run.Token] {
			t.Errorf("token %q twice", run.Token)
		}
		seen[run.Token] = true
		if strings.Trim(run.Token, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			t.Errorf("token %q: names are made of it, so it is to be letters and digits", run.Token)
		}
	}
	run := claim(t, s, th, says("one"))
	newer(run)
	finish(t, s, run, time.Time{})
	run = claim(t, s, th, says("two"))
	newer(run)
	if err := s.Handoff(patient(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	newer(next(t, s))
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	newer(next(t, in.Reopen(t).Store))
}

// Handoff wakes the thread, though nothing is in its inbox.
func handoff(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("handoff"), says("one"))
	commit(t, s, run, memory.Opened{Turn: 1})
	if err := s.Handoff(patient(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	wantFenced(t, s, run)
	again := next(t, s)
	if diff := cmp.Diff(run.Log, again.Log); diff != "" {
		t.Errorf("the log changed on the way (-before +after):\n%s", diff)
	}
	wantFenced(t, s, run)
	put(t, s, run.Thread, says("two"))
	if err := s.Handoff(patient(t), again); err != nil {
		t.Fatalf("Handoff with mail: %v", err)
	}
	wantBodies(t, "log", next(t, s).Log, says("one"), memory.Opened{Turn: 1}, says("two"))
	wantNone(t, s, platform)
}

// Next returns when its context is done, at once, and takes nothing with it.
func nextEnds(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 3 {
		go func() {
			_, err := s.Next(ctx, platform)
			errs <- err
		}()
	}
	cancel()
	for range 3 {
		select {
		case err := <-errs:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Next: %v, want %v", err, context.Canceled)
			}
		case <-patient(t).Done():
			t.Fatal("Next does not return")
		}
	}
	put(t, s, thread("later"), says("one"))
	if _, err := s.Next(ctx, platform); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with a context that is done: %v, want %v", err, context.Canceled)
	}
	wantBodies(t, "log", next(t, s).Log, says("one"))
}

// A run hears of what is put while it is held.
func mail(t *testing.T, open Open) {
	s := open(t, Options{Lease: 10 * Patience}).Store // so that no heartbeat helps
	run := claim(t, s, thread("mail"), says("one"))
	for i := range 3 {
		b := says(number("more ", i))
		put(t, s, run.Thread, b)
		wantMail(t, run)
		wantBodies(t, "arrived", commit(t, s, run), b)
	}
	commit(t, s, run, posted("steps/1", "m1"))
	putRef(t, s, reacts("m1", chat.EmojiStop))
	wantMail(t, run)
	wantBodies(t, "arrived", commit(t, s, run), reacts("m1", chat.EmojiStop))
	wantHeld(t, run)
}

// So it does when another process puts it.
func mailFromReplica(t *testing.T, open Open) {
	in := open(t, Options{Lease: 10 * Patience})
	if in.Replica == nil {
		t.Skip("the store serves one process")
	}
	run := claim(t, in.Store, thread("mail"), says("one"))
	put(t, in.Replica(t).Store, run.Thread, says("two"))
	wantMail(t, run)
	wantBodies(t, "arrived", commit(t, in.Store, run), says("two"))
}

func wantMail(t *testing.T, run *memory.Run) {
	t.Helper()
	rung := make(chan struct{}, 1)
	run.Bell.Listen(func() {
		select {
		case rung <- struct{}{}:
		default:
		}
	})
	defer run.Bell.Listen(nil)
	select {
	case <-rung:
	case <-patient(t).Done():
		t.Fatal("the bell does not ring")
	}
	if mail, lost := run.Bell.Take(); !mail || lost {
		t.Errorf("mail = %v and lost = %v, want mail only", mail, lost)
	}
}

func wantHeld(t *testing.T, run *memory.Run) {
	t.Helper()
	if _, lost := run.Bell.Take(); lost {
		t.Error("the run is lost, want it held")
	}
}

// A run of a store that was closed is fenced.
func fencedAfterClose(t *testing.T, open Open) {
	in := open(t, Options{})
	run := claim(t, in.Store, thread("closed"), says("one"))
	if err := in.Store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if _, lost := run.Bell.Take(); !lost {
		t.Error("the bell does not say that the run is lost")
	}
	wantFenced(t, in.Store, run)
	if _, err := in.Store.Next(patient(t), platform); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Next of a closed store: %v, want %v", err, memory.ErrFenced)
	}
	wantBodies(t, "log", next(t, in.Reopen(t).Store).Log, says("one"))
}

// A run that has ended is fenced, also when the thread is held again.
func fencedAfterFinish(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ended"), says("one"))
	finish(t, s, run, time.Time{})
	if _, err := s.Commit(patient(t), run, says("late")); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit after the end: %v, want %v", err, memory.ErrFenced)
	}
	again := claim(t, s, run.Thread, says("two"))
	if _, err := s.Commit(patient(t), run, says("late")); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit while another holds it: %v, want %v", err, memory.ErrFenced)
	}
	wantBodies(t, "log", again.Log, says("one"), says("two"))
	wantBodies(t, "arrived", commit(t, s, again))
}
