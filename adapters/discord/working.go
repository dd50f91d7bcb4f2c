package discord

import (
	"context"
	"errors"
	"sync"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/outbox"
)

// working shows that the bot is at work: Discord's typing sign, which lasts
// 10 s or until a message comes. It comes only after a moment, so that a quick
// answer costs no call, and not for ever, in case nobody says that it ends.
type working struct {
	mu    sync.Mutex
	at    map[chat.ThreadID]*sign
	ended bool
}

type sign struct {
	timer *time.Timer
	until time.Time
}

const (
	signAfter  = 300 * time.Millisecond
	signAgain  = 8 * time.Second
	signAtMost = 15 * time.Minute
)

// Sign shows that the bot is at work. Discord has no words for it.
func (a *Adapter) Sign(thread chat.ThreadID, now chat.Work) {
	w, on := &a.working, now.Busy()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	switch {
	case on && s == nil && !w.ended:
		s = &sign{until: a.o.Now().Add(signAtMost)}
		s.timer = time.AfterFunc(signAfter, func() { a.sign(thread, s) })
		w.at[thread] = s
	case !on && s != nil:
		s.timer.Stop()
		delete(w.at, thread)
	}
}

// sign shows the sign, and again before it goes out, unless the work has ended.
func (a *Adapter) sign(thread chat.ThreadID, s *sign) {
	ctx, cancel := context.WithTimeout(context.Background(), signAgain)
	defer cancel()
	if !a.working.goesOn(thread, s) {
		return
	}
	if h, err := a.move(ctx, api.PlaceOf(thread), ""); err == nil {
		r := api.Request{Method: "POST", Path: "/channels/{}/typing", IDs: []string{h.channel}, Priority: outbox.Low}
		r.Float, r.Key = true, "typing "+thread.String()
		r.Skip = func() bool { return !a.working.goesOn(thread, s) }
		if err := a.rest.Call(ctx, r); err != nil {
			a.log.Debug("show that the bot is at work", "error", err)
		}
	}
	a.working.mu.Lock()
	defer a.working.mu.Unlock()
	if a.working.at[thread] != s {
		return
	}
	if a.o.Now().After(s.until) {
		delete(a.working.at, thread)
		return
	}
	s.timer.Reset(signAgain)
}

func (w *working) goesOn(thread chat.ThreadID, s *sign) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[thread] == s
}

// shown notes that a message went out, which cleared the sign.
func (w *working) shown(thread chat.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil {
		s.timer.Reset(signAfter)
	}
}

// end stops all signs for good.
func (w *working) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for thread, s := range w.at {
		s.timer.Stop()
		delete(w.at, thread)
	}
}

// pace is how long a steps message stays as it is at the least: nobody reads what
// stands for less, and edits are what the limit of a busy channel is spent on.
const pace = 500 * time.Millisecond

// Able is all but that Discord shows nothing that is not a message, and opens forms for
// clicks alone.
func (a *Adapter) Able() chat.Able {
	return chat.Able{Pace: pace, Sees: true, Elsewhere: true, Reads: true, Channel: api.PlainID.MatchString}
}

// Grow does nothing.
func (a *Adapter) Grow(chat.ThreadID, []chat.Post) {}

// AskWhy can't ask.
func (a *Adapter) AskWhy(context.Context, chat.ThreadID, chat.User, chat.MessageRef) error {
	return errors.ErrUnsupported
}
