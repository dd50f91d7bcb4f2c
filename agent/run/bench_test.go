package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/chat"
	"nod/internal/redistest"
	"nod/internal/script"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

// stores are what the benchmarks run on.
var stores = []struct {
	name string
	open func(b *testing.B) (memory.Full, *redistest.Server)
}{
	{"sqlite", func(b *testing.B) (memory.Full, *redistest.Server) {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "nod.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s, nil
	}},
	{"redis", func(b *testing.B) (memory.Full, *redistest.Server) {
		srv := redistest.Start(b)
		s, err := redis.Open(b.Context(), srv.URL(), redis.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s, srv
	}},
}

// instant is a model that takes no time: one look-up, or one deployment, and
// then the answer.
type instant struct{ tool string }

// Complete implements llm.Model.
func (m instant) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
		return llm.Response{Text: "done", Finish: "stop"}, nil
	}
	return llm.Response{Calls: []llm.Call{{ID: "1", Name: m.tool, Args: `{"q":"x"}`}}, Finish: "tool_calls"}, nil
}

// still is a platform that says when an answer or an approval is posted.
type still struct {
	script.Board
	posted func(thread chat.ThreadID, p chat.Post)
}

// Post implements run.Drawer.
func (s *still) Post(_ context.Context, thread chat.ThreadID, p chat.Post, _ bool) (chat.MessageRef, error) {
	s.posted(thread, p)
	return chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: thread.Root + p.Key}, nil
}

// Edit implements run.Drawer.
func (*still) Edit(context.Context, chat.ThreadID, chat.MessageRef, chat.Post) error { return nil }

// nothing is a toolbox whose tools take no time.
type nothing struct{}

// Call implements run.Toolbox.
func (nothing) Call(context.Context, chat.Desk, llm.Call) (llm.Result, error) {
	return llm.Result{Text: "ok"}, nil
}

// bench is nod, running.
type bench struct {
	store memory.Full
	inbox run.Inbox
	stop  func()
}

func startBench(b *testing.B, store memory.Full, tool string, posted func(chat.ThreadID, chat.Post)) *bench {
	schema, err := args.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		b.Fatal(err)
	}
	risk, reads, rules := policy.Auto, true, script.Rules()
	if tool == "deploy" { // an approval that waits has all its clocks
		risk, reads, rules.Remind = policy.Ask, false, 10*time.Minute
		rules.Escalate = memory.Escalation{After: 15 * time.Minute, Approvers: []string{"user:bob"}}
	}
	a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 12, Budget: 16000, Count: func(s string) int { return len(s)/4 + 1 }, Tools: []policy.Tool{{
		Tool: llm.Tool{Name: tool, Description: tool, Parameters: []byte(`{"type":"object"}`)}, Schema: schema, Risk: risk, ReadOnly: reads, Rules: rules,
	}}}
	ctx, cancel := context.WithCancel(b.Context())
	r := &run.Runner{Store: store, Agent: a, Model: instant{tool}, Tools: nothing{}, Platforms: map[string]run.Platform{"board": &still{posted: posted}}}
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	return &bench{store: store, inbox: run.Inbox{Store: store, Agent: a}, stop: func() { cancel(); done.Wait(); _ = store.Close() }}
}

func (n *bench) say(b *testing.B, thread chat.ThreadID, i int) {
	id := thread.Root + "-" + strconv.Itoa(i)
	who := chat.User{ID: chat.UserID("u" + thread.Root), Name: "ada"} // one person alone may not ask for 10,000 approvals
	m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: thread.Channel, ID: id}, From: who, Text: "look it up"}
	if _, err := n.inbox.Message(b.Context(), thread, m, id); err != nil {
		b.Error(err)
	}
}

func benchThread(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "c" + strconv.Itoa(i%16), Root: strconv.Itoa(i)}
}

// The latency that nod adds to a turn of two model calls and one tool, from the
// event to the answer, in one thread at a time.
func BenchmarkTurnLatency(b *testing.B) {
	for _, st := range stores {
		b.Run(st.name, func(b *testing.B) {
			store, _ := st.open(b)
			answered := make(chan struct{}, 1)
			n := startBench(b, store, "look", func(_ chat.ThreadID, p chat.Post) {
				if p.Text != nil {
					answered <- struct{}{}
				}
			})
			defer n.stop()
			var took []time.Duration
			i := 0
			for b.Loop() {
				i++
				start := time.Now()
				n.say(b, benchThread(i), i)
				<-answered
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// Turns a second with 64 threads at once, each asking anew when it is answered.
func BenchmarkTurns64(b *testing.B) {
	for _, st := range stores {
		b.Run(st.name, func(b *testing.B) {
			store, _ := st.open(b)
			answers := make(map[string]chan struct{})
			for i := range 64 {
				answers[strconv.Itoa(i)] = make(chan struct{}, 1)
			}
			n := startBench(b, store, "look", func(t chat.ThreadID, p chat.Post) {
				if p.Text != nil {
					answers[t.Root] <- struct{}{}
				}
			})
			defer n.stop()
			work := make(chan int)
			var all sync.WaitGroup
			for w := range 64 {
				thread := benchThread(w)
				all.Go(func() {
					for i := range work {
						n.say(b, thread, i)
						<-answers[thread.Root]
					}
				})
			}
			start, i := time.Now(), 0
			for b.Loop() {
				i++
				work <- i
			}
			close(work)
			all.Wait()
			b.ReportMetric(float64(i)/time.Since(start).Seconds(), "turns/s")
		})
	}
}

// Turns a second of the store alone, 64 threads at once: what a turn puts,
// claims, commits and finishes, with nothing between.
func BenchmarkStore64(b *testing.B) {
	for _, st := range stores {
		b.Run(st.name, func(b *testing.B) {
			store, _ := st.open(b)
			defer func() { _ = store.Close() }()
			work := make(chan int)
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					for i := range work {
						storeTurn(b, store, i)
					}
				})
			}
			start, i := time.Now(), 0
			for b.Loop() {
				i++
				work <- i
			}
			close(work)
			all.Wait()
			b.ReportMetric(float64(i)/time.Since(start).Seconds(), "turns/s")
		})
	}
}

func storeTurn(b *testing.B, store memory.Full, i int) {
	thread := benchThread(i)
	id := strconv.Itoa(i)
	ref := chat.MessageRef{Platform: "board", Channel: thread.Channel, ID: id}
	_, err := store.Put(b.Context(), thread, memory.Message{Message: chat.Message{Ref: ref, Text: "look it up"}}, id)
	if err != nil {
		b.Error(err)
		return
	}
	r, err := store.Next(b.Context(), "board")
	if err != nil {
		b.Error(err)
		return
	}
	for _, bodies := range [][]memory.Body{
		{memory.Opened{Turn: 1, Name: "1"}, memory.Step{Turn: 1, N: 1, Calls: []memory.Call{{ID: "1-1-1", Tool: "look", Args: "{}"}}}},
		{memory.Result{Call: "1-1-1", Tool: "look", State: chat.CallDone, Text: "ok"}},
		{memory.Step{Turn: 1, N: 2, Answer: "done"}},
		{memory.Posted{Key: "answer/1", Ref: chat.MessageRef{Platform: "board", Channel: r.Thread.Channel, ID: "a" + r.Thread.Root}}, memory.Ended{Turn: 1}},
	} {
		if _, err := store.Commit(b.Context(), r, bodies...); err != nil {
			b.Error(err)
			return
		}
	}
	if _, err := store.Finish(b.Context(), r, time.Time{}); err != nil {
		b.Error(err)
	}
}

// A turn in a thread of 100 entries, and in one of 10,000.
func BenchmarkLongThread(b *testing.B) {
	for _, st := range stores {
		for _, long := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", st.name, long), func(b *testing.B) {
				store, _ := st.open(b)
				answered := make(chan struct{}, 1)
				n := startBench(b, store, "look", func(_ chat.ThreadID, p chat.Post) {
					if p.Text != nil {
						answered <- struct{}{}
					}
				})
				defer n.stop()
				thread := benchThread(1)
				i := 0
				turn := func() {
					i++
					n.say(b, thread, i)
					<-answered
				}
				for range long / entriesOfATurn {
					turn()
				}
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					turn()
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			})
		}
	}
}

// entriesOfATurn is about how many entries a turn of the benchmarks makes.
const entriesOfATurn = 9

// The parked benchmarks measure 10,000 and 100,000 threads that wait for an approval:
// memory, goroutines, and the server's commands while nothing happens.
func BenchmarkParked10000(b *testing.B) { benchParked(b, 10_000) }

func BenchmarkParked100000(b *testing.B) { benchParked(b, 100_000) }

func benchParked(b *testing.B, parked int) {
	for _, st := range stores {
		b.Run(st.name, func(b *testing.B) {
			for b.Loop() {
				before, goroutines := resident(b), runtime.NumGoroutine()
				store, srv := st.open(b)
				var asked sync.WaitGroup
				asked.Add(parked)
				n := startBench(b, store, "deploy", func(_ chat.ThreadID, p chat.Post) {
					if p.Approval != nil {
						asked.Done()
					}
				})
				for i := range parked {
					n.say(b, benchThread(i), i)
				}
				asked.Wait()
				settle(b, store, parked)
				b.ReportMetric(float64(resident(b))/1e6, "MB-resident")
				b.ReportMetric(float64(resident(b)-before)/1e6, "MB-more")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
				if srv != nil {
					b.ReportMetric(commandsPerSecond(b, srv), "commands/s")
				}
				n.stop()
			}
		})
	}
}

// settle waits until the store knows of all approvals, and gives memory back.
func settle(b *testing.B, store memory.Full, parked int) {
	b.Helper()
	for known := 0; known < parked; time.Sleep(100 * time.Millisecond) {
		known = 0
		for _, err := range store.Pending(b.Context(), "board") {
			if err != nil {
				b.Fatal(err)
			}
			known++
		}
	}
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
}

// resident is the process's memory, in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("no /proc here")
	}
	var size, rss int64
	if _, err := fmt.Sscan(string(data), &size, &rss); err != nil {
		b.Fatal(err)
	}
	return rss * int64(os.Getpagesize())
}

// commandsPerSecond counts the server's commands over ten quiet seconds.
func commandsPerSecond(b *testing.B, srv *redistest.Server) float64 {
	b.Helper()
	count := func() float64 {
		info, err := srv.Client(b).Info(b.Context(), "stats").Result()
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(info, "total_commands_processed:")
		line, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	start := count()
	const quiet = 10
	<-time.After(quiet * time.Second)
	return (count() - start - 1) / quiet
}
