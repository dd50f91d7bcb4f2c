package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/memory"
)

// crowded is a host that counts what goes on beside each other.
type crowded struct {
	run.Goroutines
	live atomic.Int64
}

// Go implements run.Host.
func (c *crowded) Go(f func()) {
	c.live.Add(1)
	c.Goroutines.Go(func() {
		defer c.live.Add(-1)
		f()
	})
}

// tallied is a store that counts what it is asked to write, and what it hands out.
type tallied struct {
	memory.Full
	asked atomic.Int64
}

// Next implements memory.Store.
func (s *tallied) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	r, err := s.Full.Next(ctx, platforms...)
	if err == nil {
		s.asked.Add(1)
	}
	return r, err
}

// Commit implements memory.Store.
func (s *tallied) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	s.asked.Add(1)
	return s.Full.Commit(ctx, r, bodies...)
}

// Finish implements memory.Store.
func (s *tallied) Finish(ctx context.Context, r *memory.Run, at time.Time, bodies ...memory.Body) (bool, error) {
	s.asked.Add(1)
	return s.Full.Finish(ctx, r, at, bodies...)
}

// Approvals that wait, with cards in a channel and in direct conversations, a reminder
// and an escalation before them, cost nothing while they wait: nothing goes on for any
// of them, and nothing is read or written. Their clocks strike all the same.
func TestParkedCostsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, parkedCostNothing)
}

// So it is on Redis.
func TestParkedCostsNothingOnRedis(t *testing.T) {
	t.Parallel()
	bubbleOn(t, openRedis(t)("nod"), parkedCostNothing)
}

func parkedCostNothing(t *testing.T, full memory.Full) {
	const parked = 20
	act := tool("act", false)
	act.Risk = policy.Ask
	act.Rules.Timeout, act.Rules.Remind = 4*time.Hour, time.Hour
	act.Rules.Channels, act.Rules.Direct = []string{"ops"}, true
	act.Rules.Escalate = memory.Escalation{After: 80 * time.Minute, Approvers: []string{"user:bob"}}
	store, host := &tallied{Full: full}, &crowded{}
	w := newWorld(t, store, nil, act)
	w.inbox.Store, w.runner.Model, w.runner.Host = full, once{}, host
	w.start()
	synctest.Wait()
	idle := host.live.Load()
	for i := range parked {
		who := chat.User{ID: chat.UserID(fmt.Sprint("p", i)), Name: fmt.Sprint("p", i)} // one person alone may not ask for so many
		thread := chat.ThreadID{Platform: "board", Channel: "c", Root: fmt.Sprint(i)}
		m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(i)}, From: who, Text: "go"}
		if _, err := w.inbox.Message(t.Context(), thread, m, m.Ref.ID); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(d time.Duration) (asked int64, lines string) {
		before := store.asked.Load()
		time.Sleep(d)
		synctest.Wait()
		return store.asked.Load() - before, strings.Join(w.board.Lines(), "\n")
	}
	count := func(what, in string, want int) {
		t.Helper()
		if n := strings.Count(in, what); n != want {
			t.Errorf("%d times %q, want %d", n, what, want)
		}
	}
	_, lines := pass(time.Minute)
	count("ask act {", lines, 3*parked) // in the thread, in the channel, and to whoever asked
	if live := host.live.Load(); live != idle {
		t.Errorf("%d things go on beside, %d more than with none parked", live, live-idle)
	}
	if asked, lines := pass(50 * time.Minute); asked != 0 || lines != "" {
		t.Errorf("the store was asked %d times while nothing happened, and people saw %q", asked, lines)
	}
	_, lines = pass(40 * time.Minute)
	count("It still waits", lines, 2*parked) // in the thread, and to whoever asked
	count("`user:bob` may decide too", lines, parked)
	count("in user:bob: ask act {", lines, parked)
	if asked, lines := pass(100 * time.Minute); asked != 0 || lines != "" {
		t.Errorf("the store was asked %d times after that, and people saw %q", asked, lines)
	}
	w.stop()
}
