package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
)

func benchStore(b *testing.B, url string) *Store {
	b.Helper()
	return openStore(b, url, Options{
		Logger: slog.New(slog.DiscardHandler), Prefix: fmt.Sprintf("b%d", prefixes.Add(1)),
	})
}

func benchThread(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: "T1/C" + strconv.Itoa(i%16), Root: strconv.Itoa(i)}
}

// turn is what a turn with one tool does to the store, from the message to its
// end: put, claim, four commits, finish.
func turn(ctx context.Context, s *Store, run *memory.Run) error {
	for _, bodies := range [][]memory.Body{
		{memory.Opened{Turn: 1}},
		{memory.Step{Turn: 1, N: 1, Calls: []memory.Call{{ID: "1.1", Tool: "clock", Args: "{}"}}}},
		{memory.Result{Call: "1.1", Text: "noon"}, memory.Step{Turn: 1, N: 2, Answer: "It is noon."}},
		{memory.Ended{Turn: 1}, memory.Trimmed{Before: run.Log[len(run.Log)-1].Seq}},
	} {
		if _, err := s.Commit(ctx, run, bodies...); err != nil {
			return err
		}
	}
	more, err := s.Finish(ctx, run, time.Time{})
	if more {
		err = fmt.Errorf("finish: more")
	}
	return err
}

// BenchmarkTurns measures turns of as many threads at once, claimed one after
// the other by one goroutine, as agent/run does.
func BenchmarkTurns(b *testing.B) {
	for _, threads := range []int{1, 64} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			s := benchStore(b, redistest.Start(b).URL())
			ctx := b.Context()
			var wg sync.WaitGroup
			done := make([]chan struct{}, threads)
			index := map[chat.ThreadID]int{}
			for i := range done {
				done[i] = make(chan struct{}, 1)
				index[benchThread(i)] = i
			}
			b.ResetTimer()
			for i := range threads {
				wg.Go(func() {
					for range b.N / threads {
						body := memory.Message{Message: chat.Message{Text: "what time is it?"}}
						if _, err := s.Put(ctx, benchThread(i), body, strconv.Itoa(i)+"-"+s.words.next()); err != nil {
							b.Error(err)
						}
						<-done[i]
					}
				})
			}
			for range b.N / threads * threads {
				run, err := s.Next(ctx, "slack")
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					if err := turn(ctx, s, run); err != nil {
						b.Error(err)
					}
					done[index[run.Thread]] <- struct{}{}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkAtRest measures what a process costs the server that has ten
// thousand threads parked on deadlines far away, with one caller of Next. Each
// iteration is a second.
func BenchmarkAtRest(b *testing.B) {
	server := redistest.Start(b)
	s := benchStore(b, server.URL())
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() { park(ctx, b, s, w*625, 625) })
	}
	wg.Wait()
	wg.Go(func() { _, _ = s.Next(ctx, "slack") })
	c := server.Client(b)
	stat := func(section, name string) float64 {
		info, err := c.Info(ctx, section).Result()
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(info, name+":")
		n, err := strconv.ParseFloat(strings.SplitN(rest, "\r\n", 2)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	before := stat("stats", "total_commands_processed")
	b.ResetTimer()
	for range b.N {
		<-time.After(time.Second)
	}
	b.StopTimer()
	b.ReportMetric((stat("stats", "total_commands_processed")-before)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(stat("memory", "used_memory")/(1<<20), "server-MB")
	cancel()
	wg.Wait()
}

func park(ctx context.Context, b *testing.B, s *Store, from, n int) {
	for i := range n {
		body := memory.Message{Message: chat.Message{Text: "deploy, please"}}
		if _, err := s.Put(ctx, benchThread(from+i), body); err != nil {
			b.Error(err)
			return
		}
		run, err := s.Next(ctx, "slack")
		if err != nil {
			b.Error(err)
			return
		}
		if _, err = s.Commit(ctx, run, memory.Asked{Call: "1.1"}); err == nil {
			_, err = s.Finish(ctx, run, time.Now().Add(time.Hour))
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
}
