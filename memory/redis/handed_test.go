package redis

import (
	"errors"
	"testing"
	"time"

	"nod/internal/redistest"
	"nod/memory"
)

// A thread is not lost if its process dies before the claim.
func TestHandedOutAndNotClaimed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := Options{Lease: time.Second, Logger: quiet}
	s := openStore(t, server.URL(), o)
	f, err := s.feedOf([]string{"slack"})
	if err != nil {
		t.Fatalf("feed: %v", err)
	}
	mustPut(t, s, text("one"))
	if _, err := s.waitForOffer(within(t), f); err != nil {
		t.Fatalf("take: %v", err)
	}
	crash(t, s)
	if got := mustClaim(t, openStore(t, server.URL(), o)).Thread; got != someThread {
		t.Errorf("claimed %v, want %v", got, someThread)
	}
}

// A deadline that has passed is a Due also when a message woke the thread
// before anybody looked at the deadline.
func TestDueWithoutSweep(t *testing.T) {
	t.Parallel()
	s := openStore(t, redistest.Start(t).URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	crash(t, s) // nobody sweeps
	if _, err := s.Finish(within(t), run, time.Now().Add(-time.Minute)); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	mustPut(t, s, text("two"))
	name, shard := someThread.String(), shardOfThread(someThread)
	id, err := s.cmd.HGet(within(t), s.keys.key(shard, "t", name), "q").Result()
	if err != nil {
		t.Fatalf("find the ready entry: %v", err)
	}
	run, err = s.claim(within(t), offer{shard: shard, thread: name, id: id})
	if err != nil || run == nil {
		t.Fatalf("claim: %v, %v", run, err)
	}
	if got := run.Log[len(run.Log)-1].Body; got != (memory.Due{}) {
		t.Errorf("the last entry is %v, want Due", got)
	}
}

// A claim voids the deadline: a run that hands the thread on without a new one
// leaves none behind.
func TestClaimVoidsTheDeadline(t *testing.T) {
	t.Parallel()
	s := openStore(t, redistest.Start(t).URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	if _, err := s.Finish(within(t), mustClaim(t, s), time.Now().Add(time.Hour)); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	mustPut(t, s, text("two"))
	mustClaim(t, s)
	w, err := s.cmd.HGet(within(t), s.keys.key(shardOfThread(someThread), "t", someThread.String()), "w").Result()
	if err != nil || w != "0" {
		t.Errorf("the deadline of a held thread is %q, %v, want 0", w, err)
	}
}

// A thread that nobody in a process wants goes to another process, long before a lease
// would run out.
func TestSpareIsGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := Options{Lease: time.Hour, Logger: quiet}
	s, other := openStore(t, server.URL(), o), openStore(t, server.URL(), o)
	f, err := s.feedOf([]string{"slack"})
	if err != nil {
		t.Fatalf("feed: %v", err)
	}
	mustPut(t, s, text("one"))
	offered, err := s.waitForOffer(within(t), f)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	s.handOut(t.Context(), f, []offer{offered})
	mustClaim(t, other)
}

// Consumers of processes that are gone are removed after a while.
func TestConsumersAreBuried(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	alive := openStore(t, server.URL(), Options{Logger: quiet})
	closes := openStore(t, server.URL(), Options{Logger: quiet})
	dies := openStore(t, server.URL(), Options{Logger: quiet})
	for _, s := range []*Store{alive, closes, dies} {
		mustPut(t, s, text("one"))
		run := mustClaim(t, s)
		if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
			t.Fatalf("Finish: %v", err)
		}
	}
	stream := alive.keys.key(shardOfThread(someThread), "q", "slack")
	names := func() map[string]bool {
		t.Helper()
		found, err := server.Client(t).XInfoConsumers(within(t), stream, group).Result()
		if err != nil {
			t.Fatalf("list consumers: %v", err)
		}
		out := map[string]bool{}
		for _, c := range found {
			out[c.Name] = true
		}
		return out
	}
	crash(t, dies)
	if err := closes.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := alive.tidy(within(t), shardOfThread(someThread), time.Hour, []string{"slack"}); err != nil || !names()[dies.Self()] {
		t.Errorf("a consumer was removed too soon (%v)", err)
	}
	if err := alive.tidy(within(t), shardOfThread(someThread), 0, []string{"slack"}); err != nil {
		t.Error(err)
	}
	if names()[dies.Self()] || names()[closes.Self()] {
		t.Error("a dead consumer is still there")
	}
	mustPut(t, alive, text("two"))
	mustClaim(t, alive)
}

// An ending process may be handed a thread on a connection that it has closed. Another
// process gets the thread at once. Later calls of the ending process fail with an error
// that says so.
func TestHandedToAClosedConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := Options{Lease: time.Hour, Logger: quiet}
	s := openStore(t, server.URL(), o)
	f, err := s.feedOf([]string{"slack"})
	if err != nil {
		t.Fatalf("feed: %v", err)
	}
	mustPut(t, s, text("one"))
	if _, err := s.waitForOffer(within(t), f); err != nil { // nobody here has it, as if it had not been read
		t.Fatalf("take: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	mustClaim(t, openStore(t, server.URL(), o))
	if _, err := s.Put(within(t), someThread, text("two")); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Put: %v, want %v", err, memory.ErrFenced)
	}
}
