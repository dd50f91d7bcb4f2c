package discord

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/adapters/discord/people"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// This file hears people, and tells those whom the bot can't hear what to do.

// hears says whether somebody's message is listened to. Where a server is not
// served, a call is answered with a word on what to do.
func (a *Adapter) hears(ctx context.Context, m api.Message, w way) (bool, error) {
	from := m.Author
	if u := a.asked(m); u != nil {
		from = u
	}
	heard, served, err := a.people.Heard(ctx, people.Speaker{User: from.ID, Member: m.Member, Guild: m.GuildID, Channel: m.ChannelID, Parent: w.place.Channel, Echo: from != m.Author})
	if err == nil && !served && w.called && m.GuildID != "" && a.once("unserved "+m.GuildID, time.Hour) {
		a.remark(ctx, m, unservedText(m.GuildID))
	}
	return heard, err
}

func unservedText(guild string) string {
	return "I am not set up for this server. Whoever runs me can add it: `discord.guilds: [\"" + guild + "\"]`."
}

// once says whether something was not said for a while, and notes that it is now.
func (a *Adapter) once(what string, in time.Duration) bool {
	now := a.o.Now()
	return a.told.Swap(what, func(at time.Time, said bool) (time.Time, bool) { return now, !said || now.Sub(at) >= in })
}

// remark says one small line in answer to a message, outside of any conversation.
func (a *Adapter) remark(ctx context.Context, m api.Message, text string) {
	r := remark{
		thread: chat.ThreadID{Platform: Platform, Channel: m.ChannelID}, channel: m.ChannelID, on: m.ID,
		part: layout.Part{Content: "-# " + text, Silent: true}, key: "remark " + m.ID + text, priority: outbox.Low,
	}
	err := a.rest.Call(ctx, r.request(nil))
	if api.Code(err) == api.CodeNoHistory || api.Code(err) == api.CodeBadForm {
		r.on = ""
		err = a.rest.Call(ctx, r.request(nil))
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("say why nothing is answered", "error", err)
	}
}

// hiddenText stands for a message that Discord doesn't show the bot.
const hiddenText = "(its text can't be seen: say so if it matters, and that `Ask nod about this` on the message, or copying it, would help)"

// blind says whether a message that calls the bot can't be read at all: without
// the intent Discord shows the text of those that mention the bot itself only.
func (a *Adapter) blind(m api.Message) bool {
	return m.GuildID != "" && m.Content == "" && m.Unspoken() == "" && len(m.Attachments) == 0 && len(m.Snapshots) == 0 && !a.reads()
}

// People can't see in the chat how to call the bot: the configuration decides it, and the
// intents that Discord grants. So help and notices tell them.

// Calling says how people call the bot, for its help.
func (a *Adapter) Calling() string {
	switch a.follow() {
	case front.FollowThread:
		return "In a thread that I am in nobody has to mention me; elsewhere in a server, mention me or use `/ask`."
	case front.FollowCallers:
		return "Whoever has called me in a thread needs no new mention there; elsewhere in a server, mention me or use `/ask`."
	}
	return "In a server I read only messages that mention me by name: put that before the words below too. `/ask`, `/stop`, the *Stop* button and 🛑 need no mention, and neither do direct messages."
}

// The line below the first answer in a thread.
const (
	goOnByAll     = "To go on, write here: nobody has to mention me in this thread."
	goOnByCallers = "To go on, write here: whoever has called me in this thread need not mention me again."
	goOnByMention = "To go on, mention me: I read only messages that do."
)

func (a *Adapter) goOn() string {
	switch a.follow() {
	case front.FollowThread:
		return goOnByAll
	case front.FollowCallers:
		return goOnByCallers
	}
	return goOnByMention
}

// hinted puts a line below the answer to the message from which a thread was made:
// that is the first answer in it.
func (s *sending) hinted() {
	p := api.PlaceOf(s.thread)
	if s.post.Text == nil || s.post.Text.Notice || p.Direct() || s.home.replyTo != "" || s.post.ReplyTo.ID != p.Thread {
		return
	}
	s.parts[len(s.parts)-1].Add(s.a.goOn())
}

// below matches the small lines below an answer: another attempt at it may have
// others.
var below = regexp.MustCompile(`(\n-# (?:<@\d{1,20}>|` + strings.Join([]string{
	regexp.QuoteMeta(goOnByAll), regexp.QuoteMeta(goOnByCallers), regexp.QuoteMeta(goOnByMention),
}, "|") + `))+$`)

// bare is the text of an answer without the lines below it.
func bare(content string) string { return chat.Flat(below.ReplaceAllString(content, "")) }
