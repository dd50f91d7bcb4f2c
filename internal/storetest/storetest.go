// Package storetest is the contract of a store ([memory.Full]) as a test suite. Every
// store passes the same suite, so no user of a store need know which one it is.
//
// A store's own test calls [Run] with a function that opens it empty. The other fields
// of an [Instance] let the store die and come back, which no method of a store can do.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// Options are the suite's wishes for a store. Zero means the store's own default.
type Options struct {
	Keep  time.Duration // a thread untouched for longer is erased
	Quota memory.Quota
	Lease time.Duration // of a store that has leases: how soon another process takes over
}

// Instance is one process's handle on a store.
type Instance struct {
	Store memory.Full

	// Crash makes the process die as far as the store can tell: nothing that
	// it holds is released or finished, and it renews nothing any more. The
	// suite still calls Commit and Finish with its runs afterwards, as a
	// process does that was paused for too long. Crash may be called once.
	Crash func()

	// Reopen opens the same data in a new process, after Crash or Close.
	Reopen func(t *testing.T) Instance

	// Replica opens the same data in a second process beside this one. Nil
	// where the store serves one process only.
	Replica func(t *testing.T) Instance

	// Forgets is of a store whose answers are lost, which need not remember a log.
	Forgets bool
}

// Open opens an empty store, or fails the test. It may be called from several
// tests at once, and arranges for its own cleaning up.
type Open func(t *testing.T, o Options) Instance

// Patience is how long the suite waits for what has to happen soon. It is
// generous, since only a failing test waits for it.
const Patience = 5 * time.Minute

// lease is long enough that a busy machine renews it in time, and short enough to be
// waited for where a process died.
const lease = 2 * time.Second

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

// check is one test of the suite.
type check struct {
	name string
	run  func(t *testing.T, open Open)
}

// suite lists every test. Each opens with a sentence on what it proves.
var suite = []check{
	{"Order", order},
	{"Kept", kept},
	{"Threads", threads},
	{"ArrivedComeAfterCommitted", arrivedAfterCommitted},
	{"FinishSaysMore", finishSaysMore},
	{"FinishCommits", finishCommits},
	{"WokenWhileHeld", wokenWhileHeld},
	{"EventIDs", eventIDs},
	{"SeqNeverSkipsOrRepeats", seqNeverSkips},
	{"AtIsTheStoresClock", storesClock},
	{"Claimed", claimed},
	{"UnknownKinds", unknownKinds},
	{"ManyInTheInbox", manyInTheInbox},
	{"Platforms", platforms},
	{"OneHolder", oneHolder},
	{"Tokens", tokens},
	{"Handoff", handoff},
	{"NextEndsWithItsContext", nextEnds},
	{"Mail", mail},
	{"MailFromAnotherProcess", mailFromReplica},
	{"FencedAfterClose", fencedAfterClose},
	{"FencedAfterTheEnd", fencedAfterFinish},
	{"Concurrent", concurrent},
	{"RepeatedCommits", repeated},
	{"RepeatedFinish", finishRepeated},
	{"PutAfterTheFence", putAfterFence},
	{"EffectsOfTheInbox", inboxEffects},
	{"AClaimDecidesNothing", claimDecidesNothing},
	{"BrokenAndUnknownEntries", brokenEntries},
	{"Silent", silent},
	{"Ping", ping},

	{"Due", due},
	{"DueInThePast", duePast},
	{"DueIsReplaced", dueReplaced},
	{"DueAfterACrash", dueAfterCrash},
	{"DueOnce", dueOnce},

	{"RefAfterPosted", refAfterPosted},
	{"RefBeforePosted", refBeforePosted},
	{"RefOfAMessage", refOfMessage},
	{"RefBeforeItsMessage", refBeforeMessage},
	{"RefEventIDs", refEventIDs},
	{"RefWakes", refWakes},
	{"RefOfAnotherChannel", refOfAnotherChannel},
	{"EventIDsOfAChannel", eventIDsOfAChannel},
	{"Refer", refer},
	{"ReferWithWaiting", referWaiting},
	{"ReferAndDeliveredAgain", referDelivered},
	{"ReferToThreadsAtRest", referAtRest},
	{"KnownAtItsPut", knownAtPut},

	{"Trimmed", trimmed},
	{"BaseNeverFalls", baseNeverFalls},
	{"Forgot", forgot},
	{"ForgotKeepsWhatComesAfter", forgotKeepsLater},
	{"ForgotKeepsFilesOfThat", forgotKeepsFiles},
	{"Rewritten", rewritten},
	{"ReadWithInbox", readWithInbox},
	{"Pending", pending},
	{"Watermarks", watermarks},
	{"Audit", auditLog},
	{"AuditChain", auditChain},
	{"Pseudonyms", pseudonyms},
	{"AuditMarks", auditMarks},
	{"Blobs", blobs},
	{"Tail", tail},
	{"DropBlob", dropBlob},
	{"BlobNames", blobNames},
	{"Quota", quota},
	{"Counters", counters},
	{"Notes", notes},
	{"Keep", keep},
	{"KeepWaitsForADeadline", keepWaits},

	{"CrashBeforeTheClaim", crashBeforeClaim},
	{"CrashWhileHeld", crashWhileHeld},
	{"CloseLetsGo", closeLetsGo},
	{"TakeOver", takeOver},
	{"OneLog", oneLog},
	{"AHeldRunIsNotTakenOver", notTakenOver},
}

const platform = "slack"

// thread gives the thread with this root in the suite's usual channel.
func thread(root string) chat.ThreadID {
	return chat.ThreadID{Platform: platform, Channel: "T1 C/1", Root: root}
}

// ref gives the message with this id in the suite's usual channel.
func ref(id string) chat.MessageRef {
	return chat.MessageRef{Platform: platform, Channel: "T1 C/1", ID: id}
}

var ada = chat.User{ID: "U1", Name: "Ada"}

// says is a message without a reference.
func says(text string) memory.Message {
	return memory.Message{Message: chat.Message{From: ada, Text: text}}
}

// wrote is a message with one.
func wrote(id, text string) memory.Message {
	sent := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	return memory.Message{Message: chat.Message{Ref: ref(id), From: ada, Text: text, Sent: sent}}
}

func reacts(id, emoji string) memory.Reaction {
	return memory.Reaction{Reaction: chat.Reaction{On: ref(id), By: ada, Emoji: emoji}}
}

func posted(key, id string) memory.Posted { return memory.Posted{Key: key, Ref: ref(id)} }

// patient bounds what a test waits for.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

func put(t *testing.T, s memory.Store, th chat.ThreadID, b memory.Body, ids ...string) {
	t.Helper()
	fresh, err := s.Put(patient(t), th, b, ids...)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	if !fresh {
		t.Fatalf("Put with ids %q: fresh = false, want true", ids)
	}
}

func putRef(t *testing.T, s memory.Store, b memory.Reaction, ids ...string) {
	t.Helper()
	fresh, err := s.PutRef(patient(t), b.On, b, ids...)
	if err != nil {
		t.Fatalf("PutRef: %v", err)
	}
	if !fresh {
		t.Fatalf("PutRef with ids %q: fresh = false, want true", ids)
	}
}

func next(t *testing.T, s memory.Store) *memory.Run {
	t.Helper()
	run, err := s.Next(patient(t), platform)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	wantContiguous(t, run.Log)
	return run
}

// claim puts an entry and claims the thread.
func claim(t *testing.T, s memory.Store, th chat.ThreadID, b memory.Body) *memory.Run {
	t.Helper()
	put(t, s, th, b)
	run := next(t, s)
	if run.Thread != th {
		t.Fatalf("Next claimed %v, want %v", run.Thread, th)
	}
	return run
}

func commit(t *testing.T, s memory.Store, run *memory.Run, bodies ...memory.Body) []memory.Entry {
	t.Helper()
	arrived, err := s.Commit(patient(t), run, bodies...)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	wantContiguous(t, run.Log)
	return arrived
}

func finish(t *testing.T, s memory.Store, run *memory.Run, wakeAt time.Time) {
	t.Helper()
	more, err := s.Finish(patient(t), run, wakeAt)
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	if more {
		t.Fatal("Finish says more, want an empty inbox")
	}
}

// wantNone checks that nothing can be claimed. It gives a store that is wrong
// a little time to show it.
func wantNone(t *testing.T, s memory.Store, platforms ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	run, err := s.Next(ctx, platforms...)
	if err == nil {
		t.Fatalf("Next claimed %v, want nothing to claim", run.Thread)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next: %v, want %v", err, context.DeadlineExceeded)
	}
}

func wantFenced(t *testing.T, s memory.Store, run *memory.Run) {
	t.Helper()
	if _, err := s.Commit(patient(t), run, says("late")); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want %v", err, memory.ErrFenced)
	}
	if _, err := s.Finish(patient(t), run, time.Time{}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Finish: %v, want %v", err, memory.ErrFenced)
	}
	if err := s.Handoff(patient(t), run); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Handoff: %v, want %v", err, memory.ErrFenced)
	}
}

func wantContiguous(t *testing.T, log []memory.Entry) {
	t.Helper()
	for i, e := range log {
		if e.Seq != log[0].Seq+uint64(i) {
			t.Fatalf("entry %d has Seq %d after %d", i, e.Seq, log[i-1].Seq)
		}
		if e.At.IsZero() {
			t.Fatalf("entry %d has no At", e.Seq)
		}
	}
}

func wantBodies(t *testing.T, what string, got []memory.Entry, want ...memory.Body) {
	t.Helper()
	if diff := cmp.Diff(want, bodies(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func bodies(entries []memory.Entry) []memory.Body {
	var out []memory.Body
	for _, e := range entries {
		out = append(out, e.Body)
	}
	return out
}

func read(t *testing.T, s memory.Reader, th chat.ThreadID) []memory.Entry {
	t.Helper()
	log, err := s.Read(patient(t), th)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return log
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("iterate: %v", err)
		}
		out = append(out, v)
	}
	return out
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := patient(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

func number(prefix string, i int) string { return fmt.Sprintf("%s%d", prefix, i) }
