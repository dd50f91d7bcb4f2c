package slack

import (
	"context"
	"net/url"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// working shows that the bot is at work where Slack has a sign for it: in the
// threads of direct conversations. The sign comes only after a moment, so that
// a quick answer costs no call; an answer clears it.
type working struct {
	mu *sync.Mutex
	at map[chat.ThreadID]*sign
}

type sign struct {
	timer *time.Timer
	set   bool
}

const signAfter = 300 * time.Millisecond

func newWorking() working { return working{mu: &sync.Mutex{}, at: map[chat.ThreadID]*sign{}} }

// Working shows, or stops showing, that the bot is at work.
func (a *Adapter) Working(thread chat.ThreadID, on bool) {
	if thread.Root == "" || !isDM(channelOf(thread.Channel)) {
		return
	}
	w := &a.working
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.at[thread]
	switch {
	case on && s == nil:
		s = &sign{}
		s.timer = time.AfterFunc(signAfter, func() { a.sign(thread, s) })
		w.at[thread] = s
	case !on && s != nil:
		s.timer.Stop()
		delete(w.at, thread)
		if s.set {
			a.status(thread, "")
		}
	}
}

// sign shows the sign, unless the work has ended.
func (a *Adapter) sign(thread chat.ThreadID, s *sign) {
	a.working.mu.Lock()
	defer a.working.mu.Unlock()
	if a.working.at[thread] == s {
		s.set = true
		a.status(thread, "is thinking…")
	}
}

// shown notes that a message went out, which cleared the sign.
func (w *working) shown(thread chat.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.at[thread]; s != nil {
		s.set = false
	}
}

func (a *Adapter) status(thread chat.ThreadID, text string) {
	args := url.Values{"channel_id": {channelOf(thread.Channel)}, "thread_ts": {thread.Root}, "status": {text}}
	r := request{method: "assistant.threads.setStatus", args: args, priority: outbox.Low, float: true, key: "status " + thread.String()}
	if err := a.web.call(context.Background(), r); err != nil {
		a.log.Debug("show that the bot is at work", "error", err)
	}
}

// pace is how long a steps message stays as it is at the least: Slack allows
// 50 edits a minute in a workspace.
const pace = time.Second

// Pace says how often the steps of a turn are drawn again.
func (a *Adapter) Pace() time.Duration { return pace }
