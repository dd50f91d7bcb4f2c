package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/memory/sqlite"
)

// A year of 3,000 people, each with 1,000 turns. A thread has three of them.
// NOD_PEOPLE=N has N people.
const (
	yearPeople  = 3000
	yearEach    = 1000
	yearKeep    = 720 * time.Hour
	yearShort   = 3000 // turns, where NOD_YEAR names no other number
	yearWorkers = 8
)

// BenchmarkYear plays a year into a store, with the store's clock, and prints for each
// month how large the store is, how long a start takes, and how much memory is in use.
// NOD_YEAR=N plays its first N turns.
func BenchmarkYear(b *testing.B) {
	turns, people := yearShort, yearPeople
	if n, err := strconv.Atoi(os.Getenv("NOD_PEOPLE")); err == nil {
		people = n
	}
	if n, err := strconv.Atoi(os.Getenv("NOD_YEAR")); err == nil {
		turns = n
	}
	for b.Loop() {
		y := &year{b: b, turns: people * yearEach, path: filepath.Join(b.TempDir(), "nod.db"), began: time.Now()}
		fmt.Fprintf(os.Stderr, "| month | turns | store | start to ready | heap | turns a second |\n| --- | --- | --- | --- | --- | --- |\n")
		for month := 1; y.played < turns; month++ {
			y.play(min(month*y.turns/12, turns))
			y.report(month)
		}
	}
}

type year struct {
	b      *testing.B
	turns  int
	path   string
	played int
	began  time.Time
}

// now is the time of a turn.
func (y *year) now(turn int64) time.Time {
	return y.began.Add(time.Duration(turn) * (365 * 24 * time.Hour / time.Duration(y.turns)))
}

// play opens the store and plays turns up to a number.
func (y *year) play(to int) {
	var next atomic.Int64
	next.Store(int64(y.played))
	s := y.open(func() time.Time { return y.now(next.Load()) })
	var workers sync.WaitGroup
	for range yearWorkers {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(to); i = next.Add(1) {
				if err := yearTurn(y.b.Context(), s, i); err != nil {
					y.b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	y.played = to
	if err := s.Close(); err != nil {
		y.b.Fatal(err)
	}
}

func (y *year) open(now func() time.Time) *sqlite.Store {
	s, err := sqlite.Open(y.b.Context(), y.path, sqlite.Options{Keep: yearKeep, Now: now, SweepEvery: time.Second})
	if err != nil {
		y.b.Fatal(err)
	}
	return s
}

func (y *year) report(month int) {
	var bytes int64
	files, _ := filepath.Glob(y.path + "*")
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			bytes += info.Size()
		}
	}
	start := time.Now()
	s := y.open(func() time.Time { return y.now(int64(y.played)) })
	if err := s.Ping(y.b.Context()); err != nil {
		y.b.Fatal(err)
	}
	ready := time.Since(start)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if err := s.Close(); err != nil {
		y.b.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "| %d | %d | %d MB | %.0f ms | %.1f MB | %.0f |\n", month, y.played, bytes>>20,
		float64(ready.Microseconds())/1000, float64(m.HeapInuse)/(1<<20), float64(y.played)/time.Since(y.began).Seconds())
}

// yearTurn plays a turn with one side effect, and in every tenth an approval.
func yearTurn(ctx context.Context, s *sqlite.Store, i int64) error {
	n := i/3000*1000 + i%1000 // the turns of a thread are a thousand apart: no two at once
	root := strconv.FormatInt(n, 10)
	who := chat.User{ID: chat.UserID("U" + strconv.FormatInt(n%yearPeople, 10))}
	id := strconv.FormatInt(i, 10)
	th := chat.ThreadID{Platform: "board", Channel: "T1:C" + strconv.FormatInt(n%100, 10), Root: root}
	m := memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: th.Channel, ID: id}, From: who, Text: "please look up what the weather is like in Lisbon this week"}}
	if _, err := s.Put(ctx, th, m, "e"+id, "m"+id); err != nil {
		return err
	}
	run, err := s.Next(ctx, "board")
	if err != nil {
		return err
	}
	turn := memory.LastSeq(run.Log)
	call := strconv.FormatUint(turn, 10) + "-1-1"
	steps := [][]memory.Body{
		{
			memory.Opened{Turn: turn, Name: run.Token, Requester: who},
			memory.Step{Turn: turn, N: 1, Seen: turn, Thought: "I look it up.", Calls: []memory.Call{{ID: call, Tool: "look", Args: `{"q":"x"}`}}},
		},
		{memory.Started{Call: call, Tool: "look", Digest: yearDigest}},
		{memory.Result{Call: call, Tool: "look", State: chat.CallDone, Text: "sunny, 21 degrees, with some wind in the afternoon"}},
		{memory.Step{Turn: turn, N: 2, Seen: turn + 4, Answer: "It is sunny, with 21 degrees and some wind in the afternoon."}},
		{memory.Posted{Key: "answer/" + run.Token, Ref: chat.MessageRef{Platform: "board", Channel: run.Thread.Channel, ID: "a" + id}}, memory.Ended{Turn: turn}},
	}
	if i%10 == 0 {
		steps[0] = append(steps[0], memory.Asked{Call: call, Tool: "look", Digest: yearDigest, Requester: who, Rules: memory.Rules{Approvers: []string{"requester"}, Quorum: 1}},
			memory.Vote{Call: call, By: who, Verdict: memory.Approve, Counts: true}, memory.Decided{Call: call, Outcome: chat.Approved, By: []chat.User{who}})
	}
	for _, bodies := range steps {
		if _, err := s.Commit(ctx, run, bodies...); err != nil {
			return err
		}
	}
	_, err = s.Finish(ctx, run, time.Time{})
	return err
}

// yearDigest is as long as a digest is.
const yearDigest = "8e44206b5cd12b2fb28d0a506c4ed6d80d23876be0a5fc3b96705e334beac7ec"
