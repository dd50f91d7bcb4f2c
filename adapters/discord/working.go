package discord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// working shows that the bot is at work: Discord's typing sign, which lasts
// 10 s or until a message comes. It comes only after a moment, so that a quick
// answer costs no call, and not for ever, in case nobody says that it ends.
//
// That sign has no words. Work that takes long and has no steps message yet is said in a
// silent message with a button to stop it, which is removed once there are steps or an end.
type working struct {
	mu    sync.Mutex
	at    map[chat.ThreadID]*sign
	ended bool
	calls sync.WaitGroup // that say it in words
}

type sign struct {
	timer   *time.Timer
	until   time.Time
	now     chat.Work
	steps   bool   // a steps message says it
	said    string // the words that stand; "" for none
	id      string // of the message with them
	telling bool   // calls are made
}

const (
	signAfter  = 300 * time.Millisecond
	signAgain  = 8 * time.Second
	signAtMost = 15 * time.Minute
	saidAtMost = time.Hour
	// signOld is the age of a message from which on another process may have worked on it,
	// and left its words when it was killed.
	signOld = 2 * time.Second
)

// Working shows that the bot is at work.
func (a *Adapter) Working(thread chat.ThreadID, now chat.Work) {
	w, on := &a.working, now.Busy()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	switch {
	case on && s == nil && !w.ended:
		s = &sign{until: a.o.Now().Add(signAtMost)}
		if s.telling = a.o.Now().Sub(api.SentAt(now.On.ID)) > signOld; s.telling {
			time.AfterFunc(signAfter, func() { a.sweep(thread, s) })
		}
		s.timer = time.AfterFunc(signAfter, func() { a.sign(thread, s) })
		w.at[thread] = s
	case s == nil:
		return
	case !on:
		s.timer.Stop()
		delete(w.at, thread)
	}
	s.now = now
	a.say(thread, s)
}

// words are what the sign says beside the steps.
func (s *sign) words() string {
	if !s.now.Busy() || s.steps || s.id == "" && s.now.For == 0 && s.now.Next.IsZero() {
		return ""
	}
	return s.now.String()
}

// say makes the calls after which the right words stand, one after the other. The mutex is
// held.
func (a *Adapter) say(thread chat.ThreadID, s *sign) {
	w := &a.working
	if s.telling || w.ended || s.words() == s.said {
		return
	}
	s.telling = true
	w.calls.Go(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for s.words() != s.said && !w.ended {
			now, id := s.now, s.id
			s.said = s.words()
			w.mu.Unlock()
			if s.said != "" {
				id = a.tellWork(thread, now, id)
			} else {
				a.remarks.remove(id)
				id = ""
			}
			w.mu.Lock()
			s.id = id
		}
		s.telling = false
	})
}

// sweep removes the words of other processes, before this one says any.
func (a *Adapter) sweep(thread chat.ThreadID, s *sign) {
	ctx, cancel := context.WithTimeout(context.Background(), removeAtMost)
	defer cancel()
	h, err := a.move(ctx, api.PlaceOf(thread), "")
	if err == nil {
		err = a.sweepIn(ctx, h.channel, `"`+layout.SignPart(thread, chat.Work{}).Button)
	}
	if err != nil {
		a.log.Debug("look for what a killed process said that it does", "error", err)
	}
	a.working.mu.Lock()
	defer a.working.mu.Unlock()
	s.telling = false
	a.say(thread, s)
}

func (a *Adapter) sweepIn(ctx context.Context, channel, button string) error {
	msgs, err := a.read(ctx, span{channel: channel, priority: outbox.Low, pages: 1, back: true})
	for _, m := range msgs {
		if m.Author.ID == a.self.who().ID && strings.Contains(string(m.Components), button) {
			a.erase(ctx, channel, m.ID)
		}
	}
	return err
}

// tellWork makes a message that says what the bot does, or changes it. It gives its id.
func (a *Adapter) tellWork(thread chat.ThreadID, now chat.Work, id string) string {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	h, err := a.move(ctx, api.PlaceOf(thread), "")
	if err != nil {
		return id
	}
	p := layout.SignPart(thread, now)
	if id != "" {
		r := api.Request{Method: "PATCH", Path: "/channels/{}/messages/{}", IDs: []string{h.channel, id}, Body: p.Change(), Priority: outbox.Low}
		err = a.rest.Call(ctx, r)
	} else if id, err = a.sayBriefly(ctx, remark{
		thread: thread, channel: h.channel, on: h.replyTo, part: p, key: "work " + a.o.Now().String(), stays: saidAtMost, priority: outbox.Low,
	}); err == nil {
		a.working.shown(thread)
	}
	if err != nil {
		a.log.Debug("say what the bot does", "error", err)
	}
	return id
}

// stepped notes that a steps message says what the bot does, or is over.
func (a *Adapter) stepped(thread chat.ThreadID, steps *chat.Steps) {
	w := &a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil && steps != nil {
		if s.steps = !steps.Done; steps.Done {
			s.now = chat.Work{}
		}
		a.say(thread, s)
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
	w.mu.Unlock()
	w.calls.Wait()
	w.mu.Lock()
}

// pace is how long a steps message stays as it is at the least: nobody reads what
// stands for less, and edits are what the limit of a busy channel is spent on.
const pace = 500 * time.Millisecond

// Able is all but that Discord shows nothing that is not a message, and opens forms for
// clicks alone.
func (a *Adapter) Able() chat.Able {
	return chat.Able{Pace: pace, Wordless: true, Sees: true, Elsewhere: true, Reads: true, Channel: api.PlainID.MatchString}
}

// Grow does nothing.
func (a *Adapter) Grow(chat.ThreadID, []chat.Post) {}

// AskWhy can't ask.
func (a *Adapter) AskWhy(context.Context, chat.ThreadID, chat.User, chat.MessageRef) error {
	return errors.ErrUnsupported
}
