package lab_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/lab"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// instant is a model that takes no time, and does what was recorded.
type instant struct{}

// Complete implements llm.Model.
func (instant) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	if last := req.Messages[len(req.Messages)-1]; last.Role == llm.ToolRole {
		return llm.Response{Text: "done: " + last.Text, Finish: "stop"}, nil
	}
	return llm.Response{Calls: []llm.Call{{ID: "1", Name: "deploy", Args: `{"q":"x"}`}}, Finish: "tool_calls"}, nil
}

// written is the log of a thread with so many turns, each with an approval, as a
// store keeps it.
func written(b *testing.B, turns int) [][]byte {
	b.Helper()
	var out [][]byte
	add := func(body memory.Body) uint64 {
		raw, err := memory.Encode(body)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, raw)
		return uint64(len(out))
	}
	ada := chat.User{ID: "ada", Name: "ada"}
	digest := args.Digest("deploy", []byte(`{"q":"x"}`))
	for i := range turns {
		turn := add(memory.Message{Message: chat.Message{From: ada, Text: fmt.Sprint("please deploy number ", i)}})
		call := memory.Call{ID: fmt.Sprintf("%d-1-1-t", turn), Tool: "deploy", Args: `{"q":"x"}`, Object: true}
		result := memory.Result{Call: call.ID, Tool: "deploy", State: chat.CallDone, Text: "it is done, with a few words about how it went"}
		usage := llm.Usage{Prompt: 1000, Completion: 30}
		add(memory.Opened{Turn: turn, Name: fmt.Sprint(turn, "-t"), Requester: ada})
		add(memory.Step{Turn: turn, N: 1, Seen: turn, Calls: []memory.Call{call}, Usage: usage})
		add(memory.Asked{Call: call.ID, Number: i + 1, Tool: "deploy", Digest: digest, Requester: ada})
		add(memory.Posted{Key: memory.AskName(call.ID)})
		add(memory.Decided{Call: call.ID, Outcome: chat.Approved, By: []chat.User{ada}})
		add(memory.Started{Call: call.ID, Tool: "deploy", Digest: digest, By: "p"})
		seen := add(result)
		add(memory.Step{Turn: turn, N: 2, Seen: seen, Answer: "done: " + result.Text, Usage: usage})
		add(memory.Posted{Key: fmt.Sprint("answer/", turn, "-t")})
		add(memory.Ended{Turn: turn})
	}
	return out
}

func decoded(raw [][]byte) []memory.Entry {
	out := make([]memory.Entry, len(raw))
	for i, r := range raw {
		out[i] = memory.Entry{Seq: uint64(i + 1), At: time.Unix(int64(i), 0), Body: memory.Decode(r)}
	}
	return out
}

// Replay of 10,000 turns, of 20 in a thread, with a model that takes no time, from
// what a store gives to the report, two turns at once.
func BenchmarkReplay10000(b *testing.B) {
	const threads, each = 500, 20
	raw := written(b, each)
	a := newAgent(b)
	a.Budget = 16000
	for _, mode := range []lab.Mode{lab.Calls, lab.Turns, lab.Rules} {
		b.Run(string(mode), func(b *testing.B) {
			l := &lab.Lab{Agent: a, Model: instant{}, Mode: mode}
			var most uint64
			b.ReportAllocs()
			for b.Loop() {
				var report lab.Report
				var mu sync.Mutex
				var all errgroup.Group
				all.SetLimit(2)
				for i := range threads {
					turns, ok := lab.Read(thread(i), decoded(raw), time.Time{})
					if !ok || len(turns) != each {
						b.Fatalf("%d turns", len(turns))
					}
					for _, t := range turns {
						all.Go(func() error {
							d, err := l.Replay(b.Context(), t)
							mu.Lock()
							defer mu.Unlock()
							report.Add(d)
							return err
						})
					}
					if i%50 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapInuse)
					}
				}
				if err := all.Wait(); err != nil || report.Same != threads*each || report.New.Asked != threads*each {
					b.Fatalf("%d of %d the same, %d asked: %v", report.Same, report.Turns, report.New.Asked, err)
				}
			}
			b.ReportMetric(float64(threads*each*b.N)/b.Elapsed().Seconds(), "turns/s")
			b.ReportMetric(float64(most)/1e6, "MB-heap")
			b.ReportMetric(0, "ns/op")
		})
	}
}
