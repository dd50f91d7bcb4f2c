package discord

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// messagesOf writes a post that needs nothing else as messages.
func messagesOf(thread chat.ThreadID, m front.Message) []part {
	switch {
	case m.Steps != nil:
		return []part{stepsPart(thread, m.Steps)}
	case m.Approval != nil:
		card := approvalPart(m.Approval, m.Card)
		card.buttons = cardButtons(thread, m.Approval, m.Card.Buttons)
		if !m.Approval.Quiet && m.Approval.Outcome == "" {
			card.pings = deciders(m.Approval)
		}
		return []part{card}
	case m.Text != nil && m.Text.Summons != nil:
		return summonsParts(m)
	case m.Text != nil:
		return answerParts(m.Linked())
	}
	return nil
}

// partsOf writes a post as messages, also one of a file, which is in the store.
func (a *Adapter) partsOf(ctx context.Context, thread chat.ThreadID, m front.Message) ([]part, error) {
	if m.File != nil {
		file, err := a.filePart(ctx, thread, m.Post)
		return []part{file}, err
	}
	parts := messagesOf(thread, m)
	if len(parts) == 0 {
		return nil, errors.New("post nothing")
	}
	return parts, nil
}

// Send makes the messages of a post.
func (a *Adapter) Send(ctx context.Context, thread chat.ThreadID, m front.Message, look bool) (chat.MessageRef, error) {
	if ref, ok := a.confided(ctx, thread, m.Post); ok {
		return ref, nil
	}
	parts, err := a.partsOf(ctx, thread, m)
	if err != nil {
		return chat.MessageRef{}, err
	}
	h, err := a.move(ctx, placeOf(thread), "")
	if err != nil {
		return chat.MessageRef{}, final(err)
	}
	s := &sending{a: a, thread: thread, home: h, post: m.Post, parts: parts, priority: outbox.UrgencyOf(m.Post)}
	s.post.Text = m.Linked()
	s.hinted()
	s.callBack(ctx)
	first, err := s.all(ctx, look)
	if err != nil && s.moved(ctx, err) {
		if first, err = s.all(ctx, look); err != nil && s.first == "" { // nor can it be said there: it may be for a moment only
			a.homes.flat.Take(placeOf(thread))
		}
	}
	if err != nil {
		return chat.MessageRef{}, s.final(err)
	}
	a.working.shown(thread)
	ref := refIn(thread, m.Approval, first)
	if m.Steps != nil {
		a.shown.Put(ref, parts[0].face())
	}
	return ref, nil
}

// confided gives a post that answers a command to whoever gave it, alone. Where
// that fails it is posted like any other.
func (a *Adapter) confided(ctx context.Context, thread chat.ThreadID, p chat.Post) (chat.MessageRef, bool) {
	if p.Text == nil || p.ReplyTo.ID == "" {
		return chat.MessageRef{}, false
	}
	in, ok := a.asides.take(p.ReplyTo.ID)
	if !ok {
		return chat.MessageRef{}, false
	}
	parts := answerMessages(p.Confided().Text)
	if err := a.fulfil(ctx, in, newPage(parts[0].content)); err != nil {
		a.log.Warn("answer a command", "error", err)
		return chat.MessageRef{}, false
	}
	for _, more := range parts[1:] {
		if err := a.tell(ctx, in, more.content); err != nil {
			a.log.Warn("answer a command in full", "error", err)
		}
	}
	return refOf(placeOf(thread), in.ID), true
}

// Change makes a message show something else.
func (a *Adapter) Change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	parts := messagesOf(thread, m)
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	now := parts[0]
	if m.Approval != nil {
		now = redrawn(m, now)
	}
	h, err := a.where(ctx, placeOf(thread))
	if err != nil {
		return final(err)
	}
	r := request{
		method: "PATCH", path: "/channels/{}/messages/{}", ids: []string{a.standsAt(ref, h), ref.ID},
		body: now.change(), priority: outbox.PriorityOf(m.Post), key: "edit " + ref.String(),
	}
	if m.Steps != nil {
		r.skip = func() bool { return m.Skip() || a.same(ref, now) }
		r.made = func() { a.shown.Put(ref, now.face()) }
		if r.float = m.Floats(); r.float {
			return a.rest.call(ctx, r)
		}
	}
	err = a.rest.call(ctx, r)
	if other := otherHome(placeOf(thread), r.ids[0]); other != "" && slices.Contains(elsewhere, code(err)) {
		there := r
		there.ids = []string{other, ref.ID}
		if failed := a.rest.call(ctx, there); !slices.Contains(elsewhere, code(failed)) {
			r, err = there, failed
		}
	}
	if other, ok := otherwise(now, m); ok && code(err) == codeBadForm && a.stands(ctx, r.ids, len(other.card) > 0) {
		r.body = other.change()
		err = a.rest.call(ctx, r)
	}
	if code(err) == codeArchived {
		if err = a.unarchive(ctx, r.ids[0]); err == nil {
			err = a.rest.call(ctx, r)
		}
	}
	return final(err)
}

// stands says whether a message is, or is no card, as far as that can be found out:
// Discord never makes one of the other.
func (a *Adapter) stands(ctx context.Context, ids []string, card bool) bool {
	var m message
	err := a.rest.call(ctx, request{method: "GET", path: "/channels/{}/messages/{}", ids: ids, priority: outbox.Approval, answer: &m})
	return err != nil || m.Flags&components != 0 == card
}

// standsAt is the channel of a message of the bot's. Where a conversation left a
// thread, what was said in it stands there still.
func (a *Adapter) standsAt(ref chat.MessageRef, h home) string {
	if _, here := a.homes.places.Get(ref.ID); h.replyTo == "" || here {
		return h.channel
	}
	if p := readPlace(ref.Channel); a.atlas.isThread(p.thread) {
		return p.thread
	}
	return h.channel
}

// otherHome is the channel above a thread, or the thread, whichever is not the one: where
// a conversation left a thread, another process need not know which of its messages stand
// where. "" for a direct conversation.
func otherHome(p place, channel string) string {
	switch {
	case p.direct():
		return ""
	case channel == p.thread:
		return p.channel
	}
	return p.thread
}

// unarchive opens a thread that was closed for silence: messages in it can't be
// changed meanwhile.
func (a *Adapter) unarchive(ctx context.Context, thread string) error {
	return a.rest.call(ctx, request{
		method: "PATCH", path: "/channels/{}", ids: []string{thread},
		body: map[string]any{"archived": false}, priority: outbox.Approval,
	})
}

// Mark puts the bot's emoji on a message. That it is there already is fine.
func (a *Adapter) Mark(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	channels, err := a.reach(ctx, ref)
	if err != nil {
		return err
	}
	for i, c := range channels {
		err = a.putEmoji(ctx, c, ref.ID, emoji, p)
		for _, form := range coloured(emoji) { // some are known in another form only
			if code(err) == discordgo.ErrCodeUnknownEmoji {
				err = a.putEmoji(ctx, c, ref.ID, form, p)
			}
		}
		if code(err) == codeArchived && a.unarchive(ctx, c) == nil {
			err = a.putEmoji(ctx, c, ref.ID, emoji, p)
		}
		if i == len(channels)-1 || !slices.Contains(elsewhere, code(err)) {
			break
		}
	}
	var e *apiError
	if errors.As(err, &e) && passes(err) {
		return saidBy(e) // it is not waited for
	}
	return final(err)
}

// coloured writes an emoji in the forms that have the marks of colour, which the
// normal form leaves out: at the end, and within a sequence.
func coloured(emoji string) []string {
	var b strings.Builder
	for _, r := range emoji {
		b.WriteRune(r)
		symbol := r >= 0x203C && r < 0x3300 && r != 0x20E3
		keycap := r < 0x80 && strings.HasSuffix(emoji, "\u20E3")
		if symbol || keycap {
			b.WriteRune('\uFE0F')
		}
	}
	return slices.Compact([]string{emoji + "\uFE0F", b.String()})
}

// elsewhere are refusals after which a message may stand in another channel.
var elsewhere = []int{discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeCannotExecuteActionOnThisChannelType}

func (a *Adapter) putEmoji(ctx context.Context, channel, id, emoji string, p outbox.Priority) error {
	return a.rest.call(ctx, request{
		method: "PUT", path: "/channels/{}/messages/{}/reactions/{}/@me", ids: []string{channel, id, emoji}, priority: p,
	})
}
