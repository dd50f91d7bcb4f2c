package discord

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/front"
)

// This file decides which messages are for the bot, and makes them messages
// that the rest of the program understands.

var errNotOurs = errors.New("not for the bot")

// way is where a message is to be answered.
type way struct {
	place  api.Place
	opens  bool           // it begins the conversation
	called bool           // it is for the bot whatever is known of the place
	thread bool           // the place is a thread that exists
	by     chat.UserID    // who started that
	known  *chat.Standing // where that was asked
	aside  bool           // it calls nobody
	// outside says that a bot wrote it, or a person who is not heard.
	outside bool
}

// begins says whether nothing of the conversation was heard before: what a message
// answers is not in it then, nor are its files.
func (w way) begins() bool {
	return w.opens || w.thread && w.known != nil && !w.known.Known
}

// asked is the person who gave a command, where the message is the bot's echo
// of it.
func (a *Adapter) asked(m api.Message) *api.User {
	if m.Author.ID != a.self.who().ID || m.Flags&discordgo.MessageFlagsEphemeral != 0 || m.Interaction == nil || m.Interaction.User == nil ||
		m.Interaction.Type != discordgo.InteractionModalSubmit && (m.Type != discordgo.MessageTypeChatInputCommand || m.Interaction.Type != discordgo.InteractionApplicationCommand) {
		return nil
	}
	return m.Interaction.User
}

// written says whether somebody else than the bot wrote a message, for others to read.
func (a *Adapter) written(m api.Message) bool {
	return a.asked(m) != nil || m.Author.ID != a.self.who().ID && m.Written()
}

// listens says whether the bot listens to the author of a message at all.
func (a *Adapter) listens(m api.Message) bool {
	if a.asked(m) == nil && (m.Author.Bot || m.WebhookID != "") {
		return slices.Contains(a.o.AllowBots, m.Author.ID) || m.WebhookID != "" && slices.Contains(a.o.AllowBots, m.WebhookID)
	}
	return true
}

// mentions says whether a message mentions the bot, by name or by the role that
// came with it, and whether it mentions other people or roles.
func (a *Adapter) mentions(m api.Message) (me, others bool) {
	for _, u := range m.Mentions {
		if u.ID == a.self.who().ID {
			me = true
		} else {
			others = true
		}
	}
	for _, id := range m.MentionRoles {
		if a.atlas.Stands(id) {
			me = true
		} else {
			others = true
		}
	}
	return me, others
}

// uncalled is a message as if it did not mention the bot.
func (a *Adapter) uncalled(m api.Message) api.Message {
	self := a.self.who().ID
	m.Mentions = slices.DeleteFunc(slices.Clone(m.Mentions), func(u api.Mentioned) bool { return u.ID == self })
	m.MentionRoles = slices.DeleteFunc(slices.Clone(m.MentionRoles), func(id string) bool { return a.atlas.Stands(id) })
	return m
}

// place finds where a message of a guild stands, or would begin a conversation.
func (a *Adapter) place(ctx context.Context, m api.Message) (way, error) {
	if m.GuildID == "" {
		return way{place: api.Place{Channel: m.ChannelID}, called: true}, nil
	}
	c, err := a.atlas.Channel(ctx, m.ChannelID)
	if err != nil {
		return way{}, fmt.Errorf("look up a channel: %w", err)
	}
	if c.IsThread() {
		return way{place: api.Place{Channel: c.ParentID, Thread: c.ID}, thread: true, by: chat.UserID(c.OwnerID)}, nil
	}
	root := a.chain(m)
	w := way{place: api.Place{Channel: c.ID, Thread: root}, opens: root == m.ID}
	if !w.opens {
		a.homes.places.Put(m.ID, w.place)
	}
	return w, nil
}

// chain is the message that began the chain of replies in which a message
// stands: the one that the bot answered in the channel itself.
func (a *Adapter) chain(m api.Message) string {
	r := m.Referenced
	if m.Type != discordgo.MessageTypeReply || r == nil {
		return m.ID
	}
	if p, ok := a.homes.places.Get(r.ID); ok && p.Channel == m.ChannelID {
		return p.Thread
	}
	if r.Author != nil && r.Author.ID == a.self.who().ID && r.Reference != nil && r.Reference.ChannelID == m.ChannelID {
		return r.Reference.MessageID
	}
	return m.ID
}

// route says in which thread a message is to be answered. It returns
// errNotOurs for a message that isn't for the bot. later is for messages that
// are found afterwards.
func (a *Adapter) route(ctx context.Context, m api.Message, later bool) (way, error) {
	if !a.written(m) {
		return way{}, errNotOurs
	}
	if len(m.MentionRoles) > 0 {
		if err := a.atlas.Learn(ctx, m.GuildID); err != nil && !api.Refused(err) {
			return way{}, err
		}
	}
	me, others := a.mentions(m)
	w, err := a.place(ctx, m)
	if err != nil {
		return w, err
	}
	heard := a.listens(m)
	w.called = heard && (w.called || me || a.asked(m) != nil)
	if !w.called && w.opens {
		return w, errNotOurs
	}
	if heard {
		if heard, err = a.hears(ctx, m, w); err != nil {
			return w, err
		}
	}
	if w.outside = !heard; w.outside && w.opens {
		return w, errNotOurs
	}
	if w.called && heard && !w.thread && !later {
		return w, nil // what is known of the place changes nothing
	}
	st, err := a.o.Inbox.Standing(ctx, api.ThreadID(w.place))
	if err != nil {
		return w, fmt.Errorf("look at the thread: %w", err)
	}
	w.known = &st
	said := front.Spoken{
		By: chat.UserID(m.Author.ID), Called: w.called, Others: others, Text: m.Content, Sent: api.SentAt(m.ID), Follows: a.follow(), Narrow: true, Outside: w.outside,
	}
	said.Starts = said.By == w.by
	ours, aside := front.Hears(st, said)
	if w.aside = aside; !ours || later && !said.Sent.After(st.Horizon) {
		return w, errNotOurs
	}
	return w, nil
}

// put puts a message into its thread, unless it is not for the bot. later is for messages
// that are found afterwards.
func (a *Adapter) put(ctx context.Context, m api.Message, later bool) error {
	if put := a.asides.completes(&m); put {
		return errNotOurs
	}
	if ours, err := a.alert(ctx, m); ours || err != nil {
		return a.Put(true, err)
	}
	w, err := a.route(ctx, m, later)
	if err != nil {
		return err
	}
	if w.aside && !w.outside && !later && a.follow() == front.FollowMentions && w.known != nil && a.once("hint "+w.place.String(), 24*time.Hour) {
		a.remark(ctx, m, "I read only messages that mention me, or that reply to me with a ping.")
	}
	if a.blind(m) {
		if !w.aside {
			a.remark(ctx, m, "I can't read this: mention me by name, not by role, or use /ask.")
		}
		return errNotOurs
	}
	if r := m.Referenced; r != nil && m.Type == discordgo.MessageTypeReply && w.begins() && r.Author != nil && r.Author.ID != a.self.who().ID {
		m.Attachments = slices.Concat(m.Attachments, r.Files())
	}
	var said []chat.Quote
	if w.thread && w.begins() {
		var files []api.Attachment
		said, files = a.before(ctx, m, w.known.Horizon)
		m.Attachments = slices.Concat(m.Attachments, slices.DeleteFunc(files, func(f api.Attachment) bool { return slices.Contains(m.Attachments, f) }))
	}
	thread := api.ThreadID(w.place)
	out := a.convert(ctx, thread, m)
	out.Aside, out.Outside, out.Quoted = w.aside, w.outside, append(said, out.Quoted...)
	fresh, err := a.o.Inbox.Message(ctx, thread, out, keysOf(m)...)
	if err := a.Put(fresh, err); err != nil {
		return err
	}
	a.asides.isPut(m)
	if fresh && w.opens && !w.place.Direct() {
		a.open(opening{w.place, out.Text, a.asked(m)})
	}
	return nil
}

func (a *Adapter) alert(ctx context.Context, m api.Message) (ours bool, err error) {
	if !a.written(m) || a.asked(m) != nil || !m.Author.Bot && m.WebhookID == "" || a.o.Alerts == nil {
		return false, nil
	}
	w, err := a.place(ctx, m)
	if err != nil {
		return false, err
	}
	thread := api.ThreadID(w.place)
	return a.o.Alert(ctx, Platform, []string{m.Author.ID, m.WebhookID}, thread, func() chat.Message { return a.convert(ctx, thread, m) })
}

// convert makes a message readable. Files that can't be had soon are left out;
// the message is not.
func (a *Adapter) convert(ctx context.Context, thread chat.ThreadID, m api.Message) chat.Message {
	return chat.Message{
		Ref:    api.RefOf(api.PlaceOf(thread), m.ID),
		From:   a.from(m),
		Text:   a.words(m).Readable(m.Said()),
		Sent:   api.SentAt(m.ID),
		Quoted: a.quoted(m),
		Files:  a.attached(ctx, thread, m.Files()),
	}
}

// from is who wrote a message, with the name that others see there.
func (a *Adapter) from(m api.Message) chat.User {
	if u := a.asked(m); u != nil {
		return api.UserOf(*u, nil)
	}
	u := api.UserOf(*m.Author, m.Member)
	u.Bot = u.Bot || m.WebhookID != ""
	return u
}

// edited takes in a change of a message's text. Discord also reports changes
// that nobody made, such as a link's preview, and hides the text of messages
// that the bot may not read.
func (a *Adapter) edited(ctx context.Context, m api.Message) error {
	if m.Edited == "" && m.Commanded() && a.asked(m) == nil { // another bot's answer that was still to come
		return a.put(ctx, m, false)
	}
	if m.Edited == "" || !a.written(m) || a.asked(m) != nil {
		return errNotOurs
	}
	me, _ := a.mentions(m)
	if m.Content == "" && m.GuildID != "" && !me && !a.reads() {
		return errNotOurs
	}
	w, err := a.place(ctx, m)
	if err != nil {
		return err
	}
	if ours, err := a.ours(ctx, w.place); err != nil || !ours {
		return cmp.Or(err, errNotOurs)
	}
	err = a.Put(a.o.Inbox.Edited(ctx, api.RefOf(w.place, m.ID), a.words(m).Readable(m.Said()), api.EditKey(m.ID, m.Edited)))
	if keys := keysOf(m)[1:]; err == nil && len(keys) > 0 {
		err = a.reframed(ctx, api.ThreadID(w.place), m, keys)
	}
	return err
}

// keysOf name a message, and what stands in its embeds and cards.
func keysOf(m api.Message) []string {
	out := []string{api.MessageKey(m.ID)}
	if text := framedIn(m); text != "" {
		out = append(out, fmt.Sprintf("discord:framed:%s:%x", m.ID, sha256.Sum256([]byte(text))))
	}
	return out
}

// reframed takes in embeds that a bot put in place of others, as builds do when they end:
// context for the next call.
func (a *Adapter) reframed(ctx context.Context, thread chat.ThreadID, m api.Message, keys []string) error {
	from := a.from(m)
	out := chat.Message{
		Ref: api.RefOf(api.PlaceOf(thread), m.ID), From: from, Sent: api.SentAt(m.ID),
		Quoted: a.cite(nil, from, m, framedIn(m)), Aside: true, Outside: true, About: true,
	}
	return a.Put(a.o.Inbox.Message(ctx, thread, out, keys...))
}

func (a *Adapter) deleted(ctx context.Context, d api.Deletion) error {
	for _, id := range d.IDs {
		p, err := a.standsIn(ctx, d.GuildID, d.ChannelID, id)
		if err != nil {
			return err
		}
		if ours, err := a.ours(ctx, p); err != nil {
			return err
		} else if !ours {
			continue
		}
		if err := a.Put(a.o.Inbox.Deleted(ctx, api.RefOf(p, id), api.GoneKey(id))); err != nil {
			return err
		}
	}
	return nil
}

// ours says whether a place is a conversation of the bot's. What happens anywhere
// else is nobody's business here, and is not kept, not even for a moment.
func (a *Adapter) ours(ctx context.Context, p api.Place) (bool, error) {
	if p.Direct() {
		return true, nil
	}
	st, err := a.o.Inbox.Standing(ctx, api.ThreadID(p))
	if err != nil {
		return false, fmt.Errorf("look at the thread: %w", err)
	}
	return st.Known, nil
}

// standsIn finds the place of a message of which only the id is known.
func (a *Adapter) standsIn(ctx context.Context, guild, channel, id string) (api.Place, error) {
	if guild == "" {
		return api.Place{Channel: channel}, nil
	}
	c, err := a.atlas.Channel(ctx, channel)
	if err != nil {
		return api.Place{}, fmt.Errorf("look up a channel: %w", err)
	}
	if c.IsThread() {
		return api.Place{Channel: c.ParentID, Thread: c.ID}, nil
	}
	if p, ok := a.homes.places.Get(id); ok {
		return p, nil
	}
	return api.Place{Channel: channel, Thread: id}, nil
}
