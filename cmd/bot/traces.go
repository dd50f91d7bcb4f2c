package main

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/mask"
	"nod/memory"
	"nod/trace"
	"nod/trace/otlp"
)

// tracer sends the spans of this process's commits. It keeps only its position in each
// turn. A process that takes a turn over sends all of it again, with the same ids,
// since nobody knows which spans the dead one had sent.
type tracer struct {
	sender *otlp.Sender
	o      trace.Options

	mu   sync.Mutex
	sent map[chat.ThreadID]uint64 // of the turn that runs: Seq of the last entry that was looked at
}

// mostTurns is of how many turns at once it is known how far they were sent; of
// more, spans are sent again.
const mostTurns = 100_000

// newTracer makes a tracer; nil where the file wants none.
func (p *program) newTracer() *tracer {
	t := p.cfg.Traces
	if t == nil {
		return nil
	}
	o := senderOptions(t)
	o.Logger = p.log
	o.Sent, o.Lost = p.meter.Spans()
	o.Resource.Instance = p.store.Self()
	return &tracer{sender: otlp.New(o), o: traceOptions(p.cfg, p.mask, p.agent.Key), sent: map[chat.ThreadID]uint64{}}
}

func senderOptions(t *config.Traces) otlp.Options {
	o := otlp.Options{URL: t.OTLP, Headers: map[string]string{}, Resource: otlp.Resource{Version: version}}
	for name, value := range t.Headers {
		o.Headers[name] = value.Reveal()
	}
	return o
}

// traceOptions takes the key of the store, under which people have pseudonyms.
func traceOptions(cfg *config.Config, m *mask.Mask, key []byte) trace.Options {
	o := trace.Options{Content: cfg.Traces != nil && cfg.Traces.Content, Mask: m.Text, Port: 80}
	if len(key) > 0 {
		o.Who = func(id string) string {
			return string(memory.Person{ID: "trace " + id, Key: key}.Pseudonym())
		}
	}
	u, err := url.Parse(cfg.LLM.BaseURL)
	if err != nil {
		return o
	}
	o.Server = u.Hostname()
	if u.Scheme == "https" {
		o.Port = 443
	}
	if n, err := strconv.ParseInt(u.Port(), 10, 64); err == nil {
		o.Port = n
	}
	return o
}

// observe hears of every entry that this process committed.
func (t *tracer) observe(held *memory.Run, e memory.Entry) {
	if !trace.Ends(e.Body) {
		return
	}
	end := len(held.Log)
	for end > 0 && held.Log[end-1].Seq > e.Seq {
		end--
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.sent[held.Thread]
	spans := trace.Spans(held.Thread, trace.Current(held.Log[:end]), t.o)
	t.sender.Put(slices.DeleteFunc(spans, func(s trace.Span) bool { return s.Seq <= from }))
	if len(t.sent) > mostTurns {
		clear(t.sent)
	}
	t.sent[held.Thread] = e.Seq
	if _, over := e.Body.(memory.Ended); over {
		delete(t.sent, held.Thread)
	}
}

// How far everything was sent is noted now and then, for the next start.
const (
	noteTraces  = "traces"
	noteEvery   = 30 * time.Second
	noteOverlap = time.Minute
)

// run sends until ctx is done. It begins with spans that a killed process may not have
// sent.
func (t *tracer) run(ctx context.Context, p *program, platforms map[string]run.Platform) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := t.again(ctx, p, platforms); err != nil && ctx.Err() == nil {
			p.log.Warn("look for spans that were not sent", "error", err)
		}
		t.note(ctx, p)
	}()
	err := t.sender.Run(ctx)
	<-done
	return err
}

// note notes, again and again, up to when everything was sent.
func (t *tracer) note(ctx context.Context, p *program) {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		now, err := time.Now().UTC().MarshalText()
		if err == nil && t.sender.Idle() {
			err = p.store.Note(ctx, noteTraces, now)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Warn("note how far spans were sent", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// again sends the spans that ended since it was noted that all were sent.
func (t *tracer) again(ctx context.Context, p *program, platforms map[string]run.Platform) error {
	noted, err := p.store.Noted(ctx, noteTraces)
	if err != nil || len(noted) == 0 {
		return err
	}
	var since time.Time
	if err := since.UnmarshalText(noted); err != nil {
		return err
	}
	since = since.Add(-noteOverlap)
	names := slices.AppendSeq([]string{}, maps.Keys(platforms))
	return memory.EachThread(ctx, p.lists, memory.ListQuery{Platforms: names, Since: since}, func(thread chat.ThreadID) error {
		spans, err := endedSince(ctx, p.store, thread, t.o, since)
		t.sender.Put(spans)
		return err
	})
}
