package slack

import (
	"cmp"
	"context"
	"net/url"
	"sync"
	"time"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// The sign of work has two parts. The status of an agent session
// (https://docs.slack.dev/ai/agent-sessions) gives people a stop button while it is
// `processing`. The older status of an assistant's thread says in words what the bot does.
// Both are no message and ring nowhere.
//
// A session never changes by itself, also not when the bot answers or people click the
// button. So every turn ends it, and goes on trying where that call fails. The older
// status goes when the bot posts, and by itself after 2 minutes; Slack takes it for a
// session at work, too, so the session has the last word. It is the only part in flat
// direct conversations, where a workspace has no sessions, and beyond [mostSessions].

// The statuses of a session.
const (
	atWork  = "processing"
	atRest  = "active"
	waiting = "suspended" // for people
	unclear = "?"         // what another process said last, or what Slack made of the older status
)

const (
	// signAfter is for how long work goes on before it is shown, so that a quick answer
	// costs no call.
	signAfter = 300 * time.Millisecond
	// mostSessions is how many calls a minute sessions get. Slack takes 50; the rest is
	// for those that end one.
	mostSessions = 40
)

// working knows what is shown in each thread that is at work or waits.
type working struct {
	mu    sync.Mutex
	at    map[chat.ThreadID]*sign
	ours  bounded.Map[chat.ThreadID, bool] // that began in this process, or that it said something of
	spent []time.Time                      // when sessions were called
	calls sync.WaitGroup
	ctx   context.Context // of these: the outbox that makes them
	stop  context.CancelFunc
}

type sign struct {
	now     chat.Work
	timer   *time.Timer // until it is shown first
	session string      // the status that Slack was told last; "" for none
	line    string      // the older status that stands
	on      string      // the message under which that stands
	plain   bool        // this work has no session
	telling bool        // calls are made
	lines   int         // how many calls of the older status began
}

func newWorking() *working {
	ctx, stop := context.WithCancel(context.Background())
	return &working{at: map[chat.ThreadID]*sign{}, ctx: ctx, stop: stop}
}

// Working shows what the bot does now.
func (a *Adapter) Working(thread chat.ThreadID, now chat.Work) {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	if s == nil {
		if !now.Busy() {
			return
		}
		s = &sign{}
		if _, ours := w.ours.Get(thread); !ours {
			s.session = unclear
		}
		w.at[thread] = s
	}
	begins := now.Busy() && !s.now.Busy()
	s.now = now
	switch {
	case begins:
		s.plain = false
		s.timer = time.AfterFunc(signAfter, func() { a.appear(thread) })
	case now.Busy() && s.timer != nil: // it shows in a moment
	default:
		if s.timer != nil {
			s.timer.Stop()
			s.timer = nil // a thread may wait for days
		}
		a.tell(thread, s)
	}
}

// appear shows the sign, unless the work has ended.
func (a *Adapter) appear(thread chat.ThreadID) {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil && s.timer != nil {
		s.timer = nil
		a.tell(thread, s)
	}
}

// tell makes the calls that a thread needs, one after the other: the newest counts. The
// mutex is held.
func (a *Adapter) tell(thread chat.ThreadID, s *sign) {
	if s.telling {
		return
	}
	if _, ok := a.due(thread, s); !ok {
		a.working.forget(thread, s)
		return
	}
	s.telling = true
	a.working.calls.Go(func() {
		for {
			c, ok := a.next(thread)
			if !ok {
				return
			}
			a.say(thread, c)
		}
	})
}

// forget drops a thread that shows nothing. The mutex is held.
func (w *working) forget(thread chat.ThreadID, s *sign) {
	if s.now.What == "" && s.timer == nil {
		delete(w.at, thread)
	}
}

type told struct {
	session bool
	says    string // the status
	ends    bool   // it has to get through
	on      string // the message
}

// next is the call that a thread needs; ok is false where Slack shows what it does.
func (a *Adapter) next(thread chat.ThreadID) (c told, ok bool) {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	c, ok = a.due(thread, s)
	if ok && c.session && !c.ends && !w.room(a.o.Now()) {
		s.plain = true
		c, ok = a.due(thread, s)
	}
	if !ok || w.ctx.Err() != nil {
		s.telling = false
		w.forget(thread, s)
		return told{}, false
	}
	if !c.session {
		s.lines++
		s.on = c.on
	} else {
		w.spent = append(w.spent, a.o.Now())
	}
	return c, true
}

// due is the call that a thread needs next. The mutex is held.
func (a *Adapter) due(thread chat.ThreadID, s *sign) (told, bool) {
	status, line := atRest, ""
	switch {
	case s.timer != nil: // the next work shows in a moment
		return told{}, false
	case s.now.Busy():
		status, line = atWork, s.now.String()
	case s.now.Waits:
		status = waiting
	}
	session := told{session: true, says: status, ends: status != atWork, on: thread.Root}
	older := told{says: line, ends: status != atWork, on: cmp.Or(thread.Root, s.on, s.now.On.ID)}
	if s.line == "" && thread.Root == "" {
		older.on = s.now.On.ID
	}
	may := thread.Root != "" && !a.shapes.Refuses(sessionShape)
	needs := may && s.session != status && (status != atWork || !s.plain) && (status != atRest || s.session != "")
	switch {
	case older.on != "" && s.line != line && (status != atWork || !needs):
		return older, true
	case needs:
		return session, true
	}
	return told{}, false
}

// room says whether a session may be called now. The mutex is held.
func (w *working) room(now time.Time) bool {
	for len(w.spent) > 0 && now.Sub(w.spent[0]) >= time.Minute {
		w.spent = w.spent[1:]
	}
	return len(w.spent) < mostSessions
}

// say makes a call, and notes what Slack shows. A call that became pointless is not made. A
// sign that ends is tried again, as Slack would show it for ever.
func (a *Adapter) say(thread chat.ThreadID, c told) {
	channel := api.ChannelOf(thread.Channel)
	r := api.Request{
		Method: "assistant.threads.setStatus", Priority: outbox.Low,
		Args: url.Values{"channel_id": {channel}, "thread_ts": {c.on}, "status": {c.says}},
	}
	if c.session {
		r.Method = "agents.sessions.setStatus"
		if title, _ := a.titles.Take(thread); title != "" {
			r.Args.Set("title", title)
		}
	}
	skipped := false
	r.Skip = func() bool { skipped = a.outdated(thread, c); return skipped }
	policy := retry.Policy{
		First: a.o.Settle, Longest: longBackoff, Final: func(err error) bool { return !c.ends || api.Code(err) != "" },
		Failed: func(err error) { a.log.Debug("show that the bot is not at work", "error", err) },
	}
	ctx, cancel := context.WithTimeout(a.working.ctx, api.LongestRetry)
	defer cancel()
	err := policy.Do(ctx, func(ctx context.Context) error { return a.web.Call(ctx, r) })
	if err != nil {
		a.log.Debug("show what the bot does", "thread", thread.String(), "error", err)
	}
	if !skipped {
		a.shows(thread, c, err)
	}
}

// outdated says whether a thread needs another call than this by now.
func (a *Adapter) outdated(thread chat.ThreadID, c told) bool {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	now, ok := a.due(thread, w.at[thread])
	return !ok || now.session != c.session || now.says != c.says
}

// shows notes what a thread shows after a call: also after one that failed, since it may
// have taken effect, and then has to be ended.
func (a *Adapter) shows(thread chat.ThreadID, c told, err error) {
	w := a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ours.Add(thread)
	s := w.at[thread]
	switch {
	case !c.session:
		s.line = c.says
	case api.RefusedForm(err):
		a.shapes.Refused(layout.Form{Shape: sessionShape}, thread.Channel, err)
		s.session, s.plain = "", true
		s.line = cmp.Or(s.line, unclear)
	default:
		s.session = c.says
		if err == nil {
			a.shapes.Took(layout.Form{Shape: sessionShape})
		}
	}
}

// posting is called before a message is made in a thread, and what it returns behind: by
// then Slack has taken the older status away, unless a call of it was under way. Without a
// session it may still show the thread at work.
func (w *working) posting(thread chat.ThreadID) (posted func()) {
	count := func() (*sign, int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := w.at[thread]
		if s == nil || s.telling {
			return nil, 0
		}
		return s, s.lines
	}
	before, n := count()
	return func() {
		s, after := count()
		if s == nil || s != before || after != n || thread.Root == "" {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.line != "" {
			s.line = ""
			if s.plain {
				s.line = unclear
			}
		}
	}
}

// sessionShape is what a workspace may not know of.
const sessionShape = "agents.sessions"

// mostSessionTitle is how much of a question names its session; Slack takes 200.
const mostSessionTitle = 80

// pace is how long a steps message stays as it is at the least: Slack allows
// 50 edits a minute in a workspace.
const pace = time.Second

// Grow does nothing.
func (a *Adapter) Grow(chat.ThreadID, []chat.Post) {}

// Able is all but that Slack shows nothing that is not a message.
func (a *Adapter) Able() chat.Able {
	return chat.Able{Pace: pace, Crowd: true, Asks: true, Sees: true, Elsewhere: true, Reads: true, Channel: ChannelID.MatchString}
}
