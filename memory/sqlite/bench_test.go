package sqlite_test

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/memory/sqlite"
)

// BenchmarkTurns64 measures the writes of a turn with two model calls and one tool, by
// 64 threads at once, each write flushed before its answer.
func BenchmarkTurns64(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "nod.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx, stop := context.WithCancel(b.Context())
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	var workers, people sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for {
				run, err := s.Next(ctx, "board")
				if err != nil {
					return
				}
				if err := turnOf(b.Context(), s, run); err != nil {
					b.Error(err)
				}
				if left.Add(-1) == 0 {
					close(done)
				}
			}
		})
	}
	var next atomic.Int64
	b.ResetTimer()
	start := time.Now()
	slots := make(chan struct{}, 64)
	for range 64 {
		people.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				slots <- struct{}{}
				id := strconv.FormatInt(i, 10)
				th := chat.ThreadID{Platform: "board", Channel: "c" + strconv.FormatInt(i%16, 10), Root: id}
				m := memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: th.Channel, ID: id}, From: chat.User{ID: "ada"}, Text: "look it up"}}
				if _, err := s.Put(b.Context(), th, m, "e"+id, "m"+id); err != nil {
					b.Error(err)
				}
				<-slots
			}
		})
	}
	people.Wait()
	<-done
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "turns/s")
	stop()
	workers.Wait()
}

func turnOf(ctx context.Context, s *sqlite.Store, run *memory.Run) error {
	turn := run.Log[0].Seq
	call := strconv.FormatUint(turn, 10) + "-1-1"
	for _, bodies := range [][]memory.Body{
		{
			memory.Opened{Turn: turn, Name: run.Token, Requester: chat.User{ID: "ada"}},
			memory.Step{Turn: turn, N: 1, Seen: 1, Thought: "I look it up.", Calls: []memory.Call{{ID: call, Tool: "look", Args: `{"q":"x"}`}}},
		},
		{memory.Result{Call: call, Tool: "look", State: chat.CallDone, Text: "ok"}},
		{memory.Step{Turn: turn, N: 2, Seen: 4, Answer: "done"}},
		{memory.Posted{Key: "answer/" + run.Token, Ref: chat.MessageRef{Platform: "board", Channel: run.Thread.Channel, ID: "a" + run.Thread.Root}}, memory.Ended{Turn: turn}},
	} {
		if _, err := s.Commit(ctx, run, bodies...); err != nil {
			return err
		}
	}
	_, err := s.Finish(ctx, run, time.Time{})
	return err
}
