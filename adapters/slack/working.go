package slack

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// That the bot is at work is shown by the status of an agent session
// (https://docs.slack.dev/ai/agent-sessions), in channels and direct
// conversations alike: it is no message, rings nowhere, and while it is
// `processing` people have a stop button. A session never changes by itself, also
// not when the bot answers or people click the button, so every turn ends it, and
// goes on trying where that call fails.
// Where a workspace has no sessions there is the older status of an assistant's
// thread, in direct conversations.

// The statuses of a session.
const (
	atWork   = "processing"
	atRest   = "active"
	waiting  = "suspended" // for an approval
	unclear  = "?"         // what a process before this one said last
	signedAs = "is thinking…"
)

// signAfter is for how long work goes on before it is shown, so that a quick
// answer costs no call.
const signAfter = 300 * time.Millisecond

// working knows what is shown in each thread that is at work or waits.
type working struct {
	mu    sync.Mutex
	at    map[chat.ThreadID]*sign
	ours  map[chat.ThreadID]bool // that began in this process, or that it said something of
	calls sync.WaitGroup         // those that end a sign
	ctx   context.Context        // of these: the outbox that makes them
	stop  context.CancelFunc
}

// sign is what a thread shows.
type sign struct {
	timer *time.Timer
	busy  bool
	asks  []chat.MessageRef // approvals that wait
	shown bool              // a call that says so was made, or is on its way
	said  string            // the status that Slack was told last; "" for none
}

func newWorking() *working {
	ctx, stop := context.WithCancel(context.Background())
	return &working{at: map[chat.ThreadID]*sign{}, ours: map[chat.ThreadID]bool{}, ctx: ctx, stop: stop}
}

func (w *working) of(thread chat.ThreadID) *sign {
	s := w.at[thread]
	if s == nil {
		s = &sign{}
		w.at[thread] = s
	}
	return s
}

// begins notes that a thread begins in this process, so that nobody said anything of it
// before.
func (w *working) begins(thread chat.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own(thread)
}

// mostOurs is of how many threads it is known what they show.
const mostOurs = 10_000

// own notes that what a thread shows is known. The mutex is held.
func (w *working) own(thread chat.ThreadID) {
	if len(w.ours) >= mostOurs {
		clear(w.ours)
	}
	w.ours[thread] = true
}

// want is the status that a thread should have.
func (s *sign) want() string {
	switch {
	case s.busy:
		return atWork
	case len(s.asks) > 0:
		return waiting
	}
	return atRest
}

// Sign shows what the bot does now.
func (a *Adapter) Sign(thread chat.ThreadID, now chat.Work) {
	if thread.Root == "" {
		return
	}
	w, on := a.working, now.Busy()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !on && w.at[thread] == nil {
		return
	}
	s := w.of(thread)
	if s.busy == on {
		return
	}
	s.busy = on
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil // a thread may wait for days
	}
	if on {
		s.timer = time.AfterFunc(signAfter, func() { a.sign(thread) })
		return
	}
	a.unsign(thread, s)
}

// sign shows that the bot is at work, unless the work has ended.
func (a *Adapter) sign(thread chat.ThreadID) {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil && s.busy && s.said != atWork {
		s.shown = true
		r := a.status(thread, atWork)
		r.Float = true
		if err := a.web.Call(context.Background(), r); err != nil {
			a.log.Debug("show that the bot is at work", "error", err)
		}
	}
}

// unsign shows what a thread that is not at work is: at rest, or waiting. The
// mutex is held.
func (a *Adapter) unsign(thread chat.ThreadID, s *sign) {
	want := s.want()
	switch {
	case s.said == "" && !a.working.ours[thread]: // it may show that a process which is over is at work there, or waits
		s.said = unclear
	case want == atRest && !s.shown:
		delete(a.working.at, thread)
		return
	}
	s.shown = true
	r := a.status(thread, want)
	a.working.calls.Go(func() {
		ctx, cancel := context.WithTimeout(a.working.ctx, api.LongestRetry)
		defer cancel()
		again := retry.Policy{
			First: a.o.Settle, Longest: longBackoff, Final: func(err error) bool { return api.Code(err) != "" },
			Failed: func(err error) { a.log.Debug("show that the bot is not at work", "error", err) },
		}
		if err := again.Do(ctx, func(ctx context.Context) error { return a.web.Call(ctx, r) }); err != nil {
			a.log.Debug("give up showing that the bot is not at work", "thread", thread.String(), "error", err)
		}
		a.working.forget(thread)
	})
}

// asks notes that an approval waits in a thread, or does no longer.
func (a *Adapter) asks(thread chat.ThreadID, ref chat.MessageRef, waits bool) {
	if thread.Root == "" || ref.IsZero() {
		return
	}
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.of(thread)
	s.asks = slices.DeleteFunc(s.asks, func(r chat.MessageRef) bool { return r == ref })
	if waits {
		s.asks = append(s.asks, ref)
	}
}

// answered notes that a turn of a thread has its answer: no approval waits in it then.
// Of those that this process posted another one may have drawn the outcome.
func (w *working) answered(thread chat.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil {
		s.asks = nil
	}
}

// forget drops a thread that shows nothing.
func (w *working) forget(thread chat.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil && !s.busy && len(s.asks) == 0 && s.said != atWork && s.said != waiting {
		delete(w.at, thread)
	}
}

// status is the call that shows a status. Calls for a thread follow each other;
// one that has become pointless when its turn comes is not made.
func (a *Adapter) status(thread chat.ThreadID, status string) api.Request {
	channel := api.ChannelOf(thread.Channel)
	args := url.Values{"channel_id": {channel}, "thread_ts": {thread.Root}, "status": {status}}
	if title, _ := a.titles.Take(thread); title != "" {
		args.Set("title", title)
	}
	r := api.Request{Method: "agents.sessions.setStatus", Args: args, Priority: outbox.Low, Key: "status " + thread.String()}
	if a.shapes.Refuses(sessionShape) {
		r = older(r, channel)
		r.Skip = func() bool { return !api.IsDM(channel) || !a.working.due(thread, status) }
	} else {
		r.Skip = func() bool { return !a.working.due(thread, status) }
	}
	r.Then = func(err error) {
		switch {
		case err == nil, outbox.IsLost(err) && status == atWork: // where it may be shown it has to be ended
			a.working.noted(thread, status)
		case api.RefusedForm(err) && r.Method == "agents.sessions.setStatus":
			a.shapes.Refused(layout.Form{Shape: sessionShape}, err)
			if !a.shapes.Refuses(sessionShape) {
				return
			}
			again := a.status(thread, status)
			again.Float = true
			_ = a.web.Call(context.Background(), again)
		}
	}
	return r
}

// sessionShape is what a workspace may not know of.
const sessionShape = "agents.sessions"

// older is the call of assistants' threads, for a workspace without sessions.
func older(r api.Request, channel string) api.Request {
	text := ""
	if r.Args.Get("status") == atWork {
		text = signedAs
	}
	r.Method = "assistant.threads.setStatus"
	r.Args = url.Values{"channel_id": {channel}, "thread_ts": r.Args["thread_ts"], "status": {text}}
	return r
}

// due says whether a thread should have a status that it doesn't have.
func (w *working) due(thread chat.ThreadID, status string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	switch {
	case s == nil:
		return false
	case status == atRest && s.said == "":
		return false
	}
	return s.want() == status && s.said != status
}

// noted notes what Slack was told.
func (w *working) noted(thread chat.ThreadID, status string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own(thread)
	if s := w.at[thread]; s != nil {
		s.said = status
	}
}

// mostSessionTitle is how much of a question names its session; Slack takes 200.
const mostSessionTitle = 80

// pace is how long a steps message stays as it is at the least: Slack allows
// 50 edits a minute in a workspace.
const pace = time.Second

// Grow does nothing.
func (a *Adapter) Grow(chat.ThreadID, []chat.Post) {}

// Able is all but that Slack shows nothing that is not a message.
func (a *Adapter) Able() chat.Able {
	return chat.Able{Pace: pace, Asks: true, Sees: true, Elsewhere: true, Channel: channelID.MatchString}
}
