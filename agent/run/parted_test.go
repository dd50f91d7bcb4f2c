package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// parted is a store of which the part is away now and then that keeps counters, notes
// and files, as where one server of a cluster fails over: logs are kept by another.
type parted struct {
	memory.Full
	away atomic.Bool
}

// sulk has that part away for so long.
func (p *parted) sulk(how time.Duration) {
	p.away.Store(true)
	time.AfterFunc(how, func() { p.away.Store(false) })
}

func (p *parted) refuses() error {
	if p.away.Load() {
		return errAway
	}
	return nil
}

// Count implements memory.Counters.
func (p *parted) Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error) {
	if err := p.refuses(); err != nil {
		return 0, err
	}
	return p.Full.Count(ctx, name, n, ttl)
}

// Noted implements memory.Notes.
func (p *parted) Noted(ctx context.Context, name string) ([]byte, error) {
	if err := p.refuses(); err != nil {
		return nil, err
	}
	return p.Full.Noted(ctx, name)
}

// Blob implements memory.Blobs.
func (p *parted) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	if err := p.refuses(); err != nil {
		return nil, err
	}
	return p.Full.Blob(ctx, thread, name)
}

// Ping implements memory.Store.
func (p *parted) Ping(ctx context.Context) error {
	if err := p.refuses(); err != nil {
		return err
	}
	return p.Full.Ping(ctx)
}

// looker is a model that tells how many pictures it was shown.
type looker struct {
	shown atomic.Int64
	pause time.Duration
}

// Complete implements llm.Model.
func (l *looker) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	for _, m := range req.Messages {
		for _, img := range m.Images {
			l.shown.Add(int64(len(img.Data)))
		}
	}
	time.Sleep(l.pause)
	return llm.Response{Text: "Hello.", Finish: "stop", Usage: llm.Usage{Prompt: 70, Completion: 30}}, nil
}

// A turn waits for the limits and the pictures that can't be read for a while, and
// what it used is counted once that can be.
func TestLimitsAway(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{"before the call": 0, "during the call": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, full memory.Full) {
				store := &parted{Full: full}
				w := newWorld(t, store, nil)
				model := &looker{pause: 5 * time.Second}
				w.runner.Model = model
				w.runner.Limits = run.Limits{Person: run.Limit{Tokens: 1000}}
				blob, err := full.PutBlob(t.Context(), w.thread, []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"))
				if err != nil {
					t.Fatal(err)
				}
				if at == 0 {
					store.sulk(20 * time.Second)
				} else {
					time.AfterFunc(at, func() { store.sulk(20 * time.Second) })
				}
				w.start()
				_, err = w.inbox.Message(t.Context(), w.thread, chat.Message{
					Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: "1"}, From: chat.User{ID: "ada", Name: "ada"}, Text: "look",
					Files: []chat.File{{Name: "a.png", MediaType: "image/png", Size: 3, Blob: blob}},
				}, "1")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				w.stop()
				wantLines(t, w.board, "answer Hello.")
				if n := model.shown.Load(); n != 13 {
					t.Errorf("the model was shown pictures of %d bytes, want 13", n)
				}
				used, err := w.runner.Limits.Used(t.Context(), full, time.Now(), "board", "ada", w.thread)
				if err != nil || len(used) != 1 || used[0].Used != 100 {
					t.Errorf("of the limit is used %+v (%v), want 100", used, err)
				}
			})
		})
	}
}

// An approval is asked for once it can be noted that it is, and no turn is given up
// for that.
func TestAskedOnceItCanBeNoted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &parted{Full: full}
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, nil, act)
		w.model.Add("call act {}")
		store.sulk(20 * time.Second)
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "ask act {} of requester")
	})
}
