package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// percentiles reports the median and the 99th percentile.
func percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// From a direct message to the answer through the whole program: the platform's
// real protocol, and a call of the model over HTTP. There is a pause between
// questions, since the adapters keep the platforms' limits for each
// conversation: the time of an operation is that pause, and the percentiles are
// what is measured. The model and the fake platform run in this process, too.
func BenchmarkMessageToAnswer(b *testing.B) {
	for _, platform := range []string{"slack", "discord"} {
		b.Run(platform, func(b *testing.B) {
			var w world = newSlackWorld(b, fakeslack.Options{NoLimits: true})
			if platform == "discord" {
				w = newDiscordWorld(b, fakediscord.Options{NoLimits: true})
			}
			n := newService(b, w, frail, setup{})
			n.start()
			awaitPost(b, w, w.dm("ada", "first"), "You said: first")
			var took []time.Duration
			before, i := w.calls(), 0
			for b.Loop() {
				<-time.After(1100 * time.Millisecond)
				i++
				text := fmt.Sprintf("hello %d", i)
				start := time.Now()
				awaitPost(b, w, w.dm("ada", text), "You said: "+text)
				took = append(took, time.Since(start))
			}
			percentiles(b, took)
			b.ReportMetric(float64(w.calls()-before)/float64(i), "calls/turn")
			n.stop()
		})
	}
}

// awaitPost waits without a pause of its own, as the fakes say when something
// happens.
func awaitPost(b *testing.B, w world, at place, text string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	there := func() bool {
		return slices.ContainsFunc(w.posts(at), func(p post) bool { return strings.Contains(p.text, text) })
	}
	var err error
	switch w := w.(type) {
	case *slackWorld:
		err = w.s.WaitFor(ctx, func(*fakeslack.Server) bool { return there() })
	case *discordWorld:
		err = w.s.WaitFor(ctx, func(*fakediscord.Server) bool { return there() })
	}
	if err != nil {
		b.Fatal(err)
	}
}

// How soon a click on the Steps button is answered while 64 people are being
// answered all the time.
func BenchmarkDiscordSteps64(b *testing.B) {
	w := newDiscordWorld(b, fakediscord.Options{NoLimits: true})
	for i := range 64 {
		name := fmt.Sprintf("user%d", i)
		w.users[name] = w.s.AddUser(name, "")
	}
	n := newService(b, w, timely, setup{})
	n.start()
	first := w.dm("ada", "time first")
	awaitPost(b, w, first, "The tool says")
	steps := n.find(first, "1 step ·")
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	var turns atomic.Int64
	began := time.Now()
	for i := range 64 {
		all.Go(func() {
			for k := 1; ctx.Err() == nil; k++ {
				turns.Add(1)
				at := w.dm(fmt.Sprintf("user%d", i), "time")
				for ctx.Err() == nil && n.count(at, "The tool says") < k {
					<-time.After(10 * time.Millisecond)
				}
			}
		})
	}
	for b.Loop() {
		w.open("ada", steps)
	}
	b.ReportMetric(float64(turns.Load())/time.Since(began).Seconds(), "turns/s")
	cancel()
	all.Wait()
	var took []time.Duration
	for _, i := range w.s.Interactions() {
		if i.Acked.IsZero() {
			b.Error("a click was not answered in time")
			continue
		}
		took = append(took, i.Acked.Sub(i.Created))
	}
	percentiles(b, took)
	n.stop()
}

// timely is a model that asks for the time, and then answers.
func timely(req fakellm.Request) fakellm.Reply {
	if req.Last().Role == "tool" {
		return fakellm.Reply{Text: "The tool says: noon"}
	}
	return fakellm.Reply{Calls: []fakellm.Call{{Name: "clock", Args: `{"zone":"Asia/Tokyo"}`}}}
}
