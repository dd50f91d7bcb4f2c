package slack

import (
	"context"
	"slices"
	"strings"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/intake"
	"nod/chat/outbox"
)

// mostQuoted is how many earlier messages of a thread go along with the call.
const mostQuoted = 30

// quoteWait is how long the call waits for them. In a burst they wait for Slack's
// limits, which let some fifty threads be read in a minute.
const quoteWait = 20 * time.Second

// unread is what goes along instead, so that nobody takes silence for an empty
// thread.
const unread = "(What was said in this thread before could not be read in time.)"

// quoted reads what was said in a thread before the bot was called into it, with
// who said it: the newest of it. It goes to the model as data. The bot's own posts are
// no words of anybody, and nothing is older than the horizon. Every file is named; those of
// the root and the newest others are to be fetched.
func (a *Adapter) quoted(ctx context.Context, thread chat.ThreadID, ev api.Event, horizon time.Time) ([]chat.Quote, []file) {
	ctx, cancel := context.WithTimeout(ctx, quoteWait)
	defer cancel()
	msgs, err := a.web.Read(ctx, api.History{Channel: ev.Channel, Thread: thread.Root, Latest: ev.TS, Priority: outbox.Answer})
	if err != nil {
		a.log.Warn("read the thread that the bot was called into", "thread", thread.String(), "error", err)
		return []chat.Quote{{From: chat.User{ID: chat.UserID(a.who().UserID), Name: a.who().User, Bot: true}, Text: unread, Own: true}}, nil
	}
	slices.SortFunc(msgs, func(x, y api.Event) int { return api.SentAt(x.TS).Compare(api.SentAt(y.TS)) })
	msgs = slices.DeleteFunc(msgs, func(m api.Event) bool {
		at := api.SentAt(m.TS)
		return a.own(m) || m.Hidden || !slices.Contains(spoken, m.Subtype) || !at.Before(api.SentAt(ev.TS)) || !horizon.IsZero() && !at.After(horizon)
	})
	if len(msgs) > mostQuoted {
		msgs = msgs[len(msgs)-mostQuoted:]
	}
	var ids []string
	for _, m := range msgs {
		ids = append(append(ids, m.User), mentioned(m.Text)...)
	}
	a.learn(ctx, 4*a.o.NameWait, ids)
	w := a.words(ctx)
	w.self = nil
	var out []chat.Quote
	var files [][]file
	for _, m := range msgs {
		from := a.writer(m)
		text := w.readable(textOf(m))
		files = append(files, allFiles(m))
		for _, f := range allFiles(m) {
			text += intake.Named(chat.FirstOf(f.Name, f.Title, f.ID))
		}
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, chat.Quote{From: from, Text: text, Ref: api.InThread(thread, m.TS)})
		}
		out = append(out, w.passedOn(m, from)...)
	}
	return out, intake.Earlier(files)
}

// writer is who wrote a message, as far as that is known already.
func (a *Adapter) writer(ev api.Event) chat.User {
	id, bot, _ := a.author(ev)
	u := chat.User{ID: chat.UserID(id), Name: ev.Username, Bot: bot}
	if v, ok := a.names.recall(ev.User); ok {
		u.Name, u.Bot = chat.FirstOf(v.Name, u.Name), u.Bot || v.Bot
	}
	return u
}
