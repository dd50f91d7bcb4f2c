package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/intake"
	"nod/front"
)

// This file decides which messages are for the bot, and makes them messages
// that the rest of the program understands.

// spoken are the subtypes of messages that somebody wrote; "" is most of them.
var spoken = []string{"", "file_share", "thread_broadcast", "me_message", "bot_message"}

var errNotOurs = errors.New("not for the bot")

// author says who wrote a message, and whether the bot listens to them at all.
func (a *Adapter) author(ev api.Event) (id string, bot, heard bool) {
	switch {
	case a.own(ev):
		return ev.User, true, false
	case ev.BotID != "" || ev.Subtype == "bot_message":
		ok := slices.Contains(a.o.AllowBots, ev.BotID) && ev.BotID != "" ||
			slices.Contains(a.o.AllowBots, ev.User) && ev.User != ""
		return chat.FirstOf(ev.User, ev.BotID), true, ok
	}
	return ev.User, false, ev.User != "" && ev.User != "USLACKBOT"
}

// own says whether the bot itself wrote a message.
func (a *Adapter) own(ev api.Event) bool {
	return a.isMe(ev.User) || a.isMe(ev.BotID)
}

type routed struct {
	thread chat.ThreadID
	st     *chat.Standing // what is known of the thread, where that was asked
	said   front.Spoken
	aside  bool // it calls nobody
}

// route says in which thread a message is to be answered. It returns errNotOurs
// for a message that isn't for the bot.
func (a *Adapter) route(ctx context.Context, ev api.Event) (routed, error) {
	by, _, heard := a.author(ev)
	if by == "" || a.own(ev) || ev.Hidden || !slices.Contains(spoken, ev.Subtype) {
		return routed{}, errNotOurs
	}
	me, others := mentions(textOf(ev), a.isMe)
	r := routed{thread: a.threadOf(ev), said: front.Spoken{
		By: chat.UserID(by), Starts: by == ev.Starter, Called: api.IsDM(ev.Channel) || me || ev.Type == "app_mention",
		Others: others, Text: ev.Text, Sent: api.SentAt(ev.TS), Follows: a.o.Follow, Outside: !heard,
	}}
	if !ev.IsReply() || r.thread.Root == "" {
		if !heard || !r.said.Called {
			return r, errNotOurs
		}
		return r, nil
	}
	st, err := a.o.Inbox.Standing(ctx, r.thread)
	if err != nil {
		return r, fmt.Errorf("look at the thread: %w", err)
	}
	r.st = &st
	return r, r.hear()
}

// hear says whether the message is for the bot.
func (r *routed) hear() error {
	ours := false
	if r.st != nil {
		ours, r.aside = front.Hears(*r.st, r.said)
	}
	if !ours {
		return errNotOurs
	}
	return nil
}

// threadOf is the thread that a message belongs to, or would open.
func (a *Adapter) threadOf(ev api.Event) chat.ThreadID {
	root := ev.Root()
	if api.IsDM(ev.Channel) && a.o.DM == Flat {
		root = ""
	}
	return api.ThreadID(a.who().TeamID, ev.Channel, root)
}

// message puts a message into its thread, unless it is not for the bot.
func (a *Adapter) message(ctx context.Context, ev api.Event, keys []string) error {
	if ours, err := a.alert(ctx, ev); ours || err != nil {
		return a.Put(true, err)
	}
	to, err := a.route(ctx, ev)
	if errors.Is(err, errNotOurs) {
		return nil
	}
	if err != nil {
		return err
	}
	heard, from := true, chat.User{}
	if id, bot, _ := a.author(ev); !bot { // bots that are answered are named one by one
		if heard, from, err = a.hears(ctx, id, ev.Channel); err != nil {
			return err
		}
	}
	if !heard {
		to.said.Outside = true
		if to.hear() != nil {
			return nil
		}
	}
	thread := to.thread
	m := a.convert(ctx, thread, ev)
	m.From.Barred, m.From.Kind, m.Aside = from.Barred, from.Kind, to.aside
	m.Outside = to.said.Outside
	m.Eyes = a.o.Search && !m.Aside && !m.Outside && a.Eyes.Open(ev, m.Ref)
	opens := ev.TS == thread.Root
	if opens {
		a.titles.Put(thread, layout.Shorten(chat.Flat(m.Text), mostSessionTitle))
	}
	a.complete(ctx, thread, ev, to.st, &m)
	fresh, err := a.o.Inbox.Message(ctx, thread, m, keys...)
	if fresh && opens {
		a.working.ours.Add(thread) // nobody said anything of it before
	}
	return a.Put(fresh, err)
}

func (a *Adapter) alert(ctx context.Context, ev api.Event) (ours bool, err error) {
	if _, bot, _ := a.author(ev); !bot || a.own(ev) || ev.Hidden || !slices.Contains(spoken, ev.Subtype) {
		return false, nil
	}
	thread := a.threadOf(ev)
	return a.o.Alert(ctx, Platform, []string{ev.BotID, ev.User}, thread, func() chat.Message {
		m := a.convert(ctx, thread, ev)
		m.Quoted = a.words(ctx).passedOn(ev, m.From)
		return m
	})
}

// complete adds to a message what has to be fetched first: what was said in a
// thread that the bot was called into, and files.
func (a *Adapter) complete(ctx context.Context, thread chat.ThreadID, ev api.Event, st *chat.Standing, m *chat.Message) {
	ctx, cancel := context.WithCancel(ctx)
	a.hurry.Store(&cancel, a.lane(ev))
	defer cancel()
	defer a.hurry.Delete(&cancel)
	m.Quoted = a.words(ctx).passedOn(ev, chat.User{Name: "somebody"})
	files := allFiles(ev)
	if st != nil && !st.Known {
		said, earlier := a.quoted(ctx, thread, ev, st.Horizon)
		m.Quoted, files = append(said, m.Quoted...), append(files, earlier...)
	}
	m.Files = a.attached(ctx, thread, files)
}

// giveUp ends what messages of a lane wait for before they are put: whoever says stop
// meanwhile is put behind them, in order, and at once.
func (a *Adapter) giveUp(lane string) {
	a.hurry.Range(func(of, in any) bool {
		if cancel, ok := of.(*context.CancelFunc); ok && in == lane {
			(*cancel)()
		}
		return true
	})
}

// convert makes a message readable. Names that can't be had soon are left out; the
// message is not.
func (a *Adapter) convert(ctx context.Context, thread chat.ThreadID, ev api.Event) chat.Message {
	text := textOf(ev)
	a.learn(ctx, a.o.NameWait, mentioned(text))
	return chat.Message{
		Ref:  api.InThread(thread, ev.TS),
		From: a.from(ctx, ev),
		Text: a.words(ctx).readable(text),
		Sent: api.SentAt(ev.TS),
	}
}

// from is who wrote a message, with the name that others see.
func (a *Adapter) from(ctx context.Context, ev api.Event) chat.User {
	id, bot, _ := a.author(ev)
	u := chat.User{ID: chat.UserID(id), Name: ev.Username, Bot: bot}
	if ev.User == "" {
		return u
	}
	ctx, cancel := context.WithTimeout(ctx, a.o.NameWait)
	defer cancel()
	if full, err := a.user(ctx, ev.User); err == nil {
		u.Name = chat.FirstOf(full.Name, u.Name)
		u.Bot, u.Zone = u.Bot || full.Bot, full.zone
		if bot && !full.Bot && ev.BotID != "" { // a program wrote it in a person's name
			u = chat.User{ID: chat.UserID(ev.BotID), Name: u.Name + " (app)", Bot: true}
		}
	}
	return u
}

// edited takes in a change of a message's text. Slack also reports changes that
// nobody made, such as a link's preview.
func (a *Adapter) edited(ctx context.Context, eventID string, ev api.Event) error {
	now := *ev.Message
	if now.Subtype == "tombstone" {
		return a.deleted(ctx, eventID, ev, now.TS)
	}
	if a.own(now) {
		return nil
	}
	now.Channel = ev.Channel
	when := chat.FirstOf(ev.EventTS, ev.TS)
	if ev.Previous != nil && textOf(*ev.Previous) == textOf(now) {
		return a.unfurled(ctx, *ev.Previous, now, api.ChangeKeys(eventID, "unfurl", ev.Channel, now.TS, when))
	}
	if a.overtaken(strings.Join([]string{"edit", ev.Channel, now.TS}, ":"), when) {
		return nil
	}
	ref := api.RefOf(a.who().TeamID, ev.Channel, now.TS)
	text := a.words(ctx).readable(textOf(now))
	return a.Put(a.o.Inbox.Edited(ctx, ref, text, api.ChangeKeys(eventID, "edit", ev.Channel, now.TS, when)...))
}

// unfurled takes in a message that somebody linked to, which Slack adds to theirs when it
// has looked it up: context for the next call.
func (a *Adapter) unfurled(ctx context.Context, before, now api.Event, keys []string) error {
	w := a.words(ctx)
	had, has := w.passedOn(before, chat.User{Name: "somebody"}), w.passedOn(now, chat.User{Name: "somebody"})
	has = slices.DeleteFunc(has, func(q chat.Quote) bool { return slices.Contains(had, q) })
	if len(has) == 0 {
		return nil
	}
	thread := a.threadOf(now)
	st, err := a.o.Inbox.Standing(ctx, thread)
	if err != nil || !st.Known {
		return err
	}
	m := chat.Message{
		Ref: api.InThread(thread, now.TS), From: a.from(ctx, now), Sent: api.SentAt(now.TS),
		Quoted: has, Aside: true, Outside: true, About: true,
	}
	return a.Put(a.o.Inbox.Message(ctx, thread, m, keys...))
}

func (a *Adapter) deleted(ctx context.Context, eventID string, ev api.Event, ts string) error {
	ref := api.RefOf(a.who().TeamID, ev.Channel, ts)
	return a.Put(a.o.Inbox.Deleted(ctx, ref, api.ChangeKeys(eventID, "gone", ev.Channel, ts, "")...))
}

// reacted takes in a reaction. Whoever reacted is looked up first, since a
// bot's reaction decides nothing, nor a stranger's: when that fails the reaction
// is not put, and Slack delivers it again. By then it may have been taken off, of which
// another process heard, or this one before it was started anew: so it is looked for.
func (a *Adapter) reacted(ctx context.Context, c api.Callback, ev api.Event) error {
	on, ok := ev.On()
	emoji := chat.NormalEmoji(ev.Reaction)
	if !ok || ev.User == a.who().UserID || !a.Means(emoji) {
		return nil
	}
	by := chat.User{ID: chat.UserID(ev.User)}
	if !front.Decides(emoji) { // the judge of votes looks people up itself
		var err error
		if by, err = a.Who(ctx, on.Channel, by); err != nil {
			return fmt.Errorf("look up who reacted: %w", err)
		}
		if by.Barred != "" {
			return nil
		}
	}
	r := chat.Reaction{On: api.RefOf(a.who().TeamID, on.Channel, on.TS), By: by, Emoji: emoji, Removed: ev.Type == "reaction_removed"}
	if first, ok := a.parts.Get(r.On); ok { // people react to the message of an answer that they read last
		r.On.ID = first
	}
	if a.overtaken(strings.Join([]string{"reaction", on.Channel, on.TS, ev.User, ev.Reaction}, ":"), ev.EventTS) {
		return nil // a vote that was taken back must not come back
	}
	what := ev.Type + ":" + ev.User + ":" + ev.Reaction
	return a.Reacted(ctx, r, c.Again, api.ChangeKeys(c.EventID, what, on.Channel, on.TS, ev.EventTS)...)
}

// stopped takes in a click on the stop button of the agent view.
func (a *Adapter) stopped(ctx context.Context, eventID string, ev api.Event) error {
	if ev.Channel == "" || ev.User == "" {
		return api.Malformed("stop without channel or user", nil)
	}
	thread := a.threadOf(ev)
	by := a.from(ctx, ev)
	return a.Put(a.o.Inbox.Halt(ctx, thread, by, api.ChangeKeys(eventID, "stop", ev.Channel, ev.ThreadTS, ev.EventTS)...))
}

// patience is how long an event may take to be put. What a message waits for may
// last longer than Slack does, which then delivers it again, and it is known
// already.
func (a *Adapter) patience(ev api.Event) time.Duration {
	most := a.o.AckTimeout
	if ev.IsReply() {
		most += quoteWait
	}
	if len(ev.Files) > 4 || len(ev.Attachments) > 4 {
		most += intake.Wait
	}
	return most
}

func (a *Adapter) isMe(id string) bool {
	who := a.who()
	return id != "" && (id == who.UserID || id == who.BotID)
}

// overtaken notes that an event is heard, before it is put, and says whether a later one
// about the same was heard before. Then it must not be put any more, whether the later one
// was put so far or not: a reaction is put on and taken off, and only the last change holds.
// Sockets don't keep the order of events, so Slack's time of an event decides.
func (a *Adapter) overtaken(what, when string) bool {
	at := api.SentAt(when)
	return !at.IsZero() && !a.changed.Swap(what, func(last time.Time, _ bool) (time.Time, bool) { return at, !at.Before(last) })
}
