package slack

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// history is a part of a channel or thread.
type history struct {
	method   string
	channel  string
	thread   string // timestamp of its root
	oldest   string // exclusive
	latest   string
	metadata bool
	priority outbox.Priority
	pages    int // default mostPages
}

// read gives the messages of a history, in no certain order. When there are
// more than so many pages the rest is left out.
func (w *web) read(ctx context.Context, h history) ([]event, error) {
	args := url.Values{"channel": {h.channel}, "limit": {strconv.Itoa(pageSize)}}
	for name, v := range map[string]string{"ts": h.thread, "oldest": h.oldest, "latest": h.latest} {
		if v != "" {
			args.Set(name, v)
		}
	}
	if h.metadata {
		args.Set("include_all_metadata", "true")
	}
	var out []event
	for range cmp.Or(h.pages, mostPages) {
		var said struct {
			Messages []event `json:"messages"`
			Meta     struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := w.call(ctx, request{method: h.method, args: args, priority: h.priority, answer: &said}); err != nil {
			return out, err
		}
		out = append(out, said.Messages...)
		if said.Meta.Next == "" {
			break
		}
		args.Set("cursor", said.Meta.Next)
	}
	if h.oldest != "" { // a thread's root comes along in any case
		out = slices.DeleteFunc(out, func(ev event) bool { return !sentAt(ev.TS).After(sentAt(h.oldest)) })
	}
	return out, nil
}

// mostQuoted is how many earlier messages of a thread go along with the call.
const mostQuoted = 30

// quoteWait is how long the call waits for them. In a burst they wait for Slack's
// limits, which let some fifty threads be read in a minute.
const quoteWait = 20 * time.Second

// unread is what goes along instead, so that nobody takes silence for an empty
// thread.
const unread = "(What was said in this thread before could not be read in time.)"

// quoted reads what was said in a thread before the bot was called into it, with
// who said it: the newest of it. It goes to the model as data, and nothing of it is
// older than the horizon.
func (a *Adapter) quoted(ctx context.Context, thread chat.ThreadID, ev event, horizon time.Time) []chat.Quote {
	ctx, cancel := context.WithTimeout(ctx, quoteWait)
	defer cancel()
	msgs, err := a.web.read(ctx, history{
		method: "conversations.replies", channel: ev.Channel, thread: thread.Root, latest: ev.TS, priority: outbox.Answer,
	})
	if err != nil {
		a.log.Warn("read the thread that the bot was called into", "thread", thread.String(), "error", err)
		return []chat.Quote{{From: chat.User{ID: chat.UserID(a.who().UserID), Name: a.who().User, Bot: true}, Text: unread}}
	}
	slices.SortFunc(msgs, func(x, y event) int { return sentAt(x.TS).Compare(sentAt(y.TS)) })
	msgs = slices.DeleteFunc(msgs, func(m event) bool {
		at := sentAt(m.TS)
		return m.Hidden || !slices.Contains(spoken, m.Subtype) || !at.Before(sentAt(ev.TS)) || !horizon.IsZero() && !at.After(horizon)
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
	w.self = ""
	var out []chat.Quote
	for _, m := range msgs {
		from := a.writer(m)
		if text := w.readable(textOf(m)); text != "" {
			out = append(out, chat.Quote{From: from, Text: text})
		}
		out = append(out, w.passedOn(m, from)...)
	}
	return out
}

// writer is who wrote a message, as far as that is known already.
func (a *Adapter) writer(ev event) chat.User {
	id, bot, _ := a.author(ev)
	u := chat.User{ID: chat.UserID(id), Name: ev.Username, Bot: bot}
	if v, ok := a.names.recall(ev.User); ok {
		u.Name, u.Bot = chat.FirstOf(v.name, u.Name), u.Bot || v.bot
	}
	return u
}
