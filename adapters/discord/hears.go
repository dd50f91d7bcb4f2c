package discord

import (
	"context"
	"errors"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/adapters/discord/people"
	"nod/chat"
	"nod/chat/outbox"
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
	if err == nil && !served && w.called {
		a.unserved(ctx, m)
	}
	return heard, err
}

// unservedText says which key to set.
func unservedText(guild string) string {
	return "I am not set up for this server. Whoever runs me can add it: `discord.guilds: [\"" + guild + "\"]`."
}

// unserved says, once in a while, that a server is not served.
func (a *Adapter) unserved(ctx context.Context, m api.Message) {
	if m.GuildID == "" || !a.once("unserved "+m.GuildID, time.Hour) {
		return
	}
	a.remark(ctx, m, unservedText(m.GuildID))
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

// hint tells, once in a conversation, that the bot would have to be mentioned.
func (a *Adapter) hint(ctx context.Context, m api.Message, w way) {
	if w.known == nil || !a.once("hint "+w.place.String(), 24*time.Hour) {
		return
	}
	a.remark(ctx, m, "I read only messages that mention me, or that reply to me with a ping.")
}

// hiddenText stands for a message that Discord doesn't show the bot.
const hiddenText = "(its text can't be seen: say so if it matters, and that `Ask nod about this` on the message, or copying it, would help)"

// blind says whether a message that calls the bot can't be read at all: without
// the intent Discord shows the text of those that mention the bot itself only.
func (a *Adapter) blind(m api.Message) bool {
	return m.GuildID != "" && m.Content == "" && m.Unspoken() == "" && len(m.Attachments) == 0 && len(m.Snapshots) == 0 && !a.reads()
}
