package discord

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// messagesOf writes a post that needs nothing else as messages.
func messagesOf(thread chat.ThreadID, m front.Message) []layout.Part {
	switch {
	case m.Steps != nil:
		return []layout.Part{layout.StepsPart(thread, m.Steps)}
	case m.Approval != nil:
		card := layout.ApprovalPart(m.Approval, m.Card)
		card.Buttons = cardButtons(thread, m.Approval, m.Card.Buttons)
		if !m.Approval.Quiet && m.Approval.Outcome == "" {
			card.Pings = layout.Deciders(m.Approval)
		}
		return []layout.Part{card}
	case m.Text != nil && m.Text.Summons != nil:
		return layout.SummonsParts(m)
	case m.Text != nil:
		return layout.AnswerParts(m.Linked())
	}
	return nil
}

// partsOf writes a post as messages, also one of a file, which is in the store.
func (a *Adapter) partsOf(ctx context.Context, thread chat.ThreadID, m front.Message) ([]layout.Part, error) {
	if m.File != nil {
		file, err := a.filePart(ctx, thread, m.Post)
		return []layout.Part{file}, err
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
	h, err := a.move(ctx, api.PlaceOf(thread), "")
	if err != nil {
		return chat.MessageRef{}, api.Final(err)
	}
	a.ring(ctx, thread, excluded(m.Post), &parts[0])
	s := &sending{a: a, thread: thread, home: h, post: m.Post, parts: parts, priority: outbox.UrgencyOf(m.Post)}
	s.post.Text = m.Linked()
	s.hinted()
	s.callBack(ctx)
	first, err := s.all(ctx, look)
	if err != nil && s.moved(ctx, err) {
		if first, err = s.all(ctx, look); err != nil && s.first == "" { // nor can it be said there: it may be for a moment only
			a.homes.flat.Take(api.PlaceOf(thread))
		}
	}
	if err != nil {
		return chat.MessageRef{}, s.final(err)
	}
	a.working.shown(thread)
	a.stepped(thread, m.Steps)
	ref := refIn(thread, m.Approval, first)
	if m.Steps != nil {
		a.shown.Put(ref, parts[0].Face())
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
	parts := layout.AnswerMessages(p.Confided().Text)
	if err := a.fulfil(ctx, in, newPage(parts[0].Content)); err != nil {
		a.log.Warn("answer a command", "error", err)
		return chat.MessageRef{}, false
	}
	for _, more := range parts[1:] {
		if err := a.tell(ctx, in, more.Content); err != nil {
			a.log.Warn("answer a command in full", "error", err)
		}
	}
	return api.RefOf(api.PlaceOf(thread), in.ID), true
}

// Change makes a message show something else.
func (a *Adapter) Change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	parts := messagesOf(thread, m)
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	now := parts[0]
	if m.Approval != nil {
		now = layout.Redrawn(m, now)
	}
	h, err := a.where(ctx, api.PlaceOf(thread))
	if err != nil {
		return api.Final(err)
	}
	r := api.Request{
		Method: "PATCH", Path: "/channels/{}/messages/{}", IDs: []string{a.standsAt(ref, h), ref.ID},
		Body: now.Change(), Priority: outbox.PriorityOf(m.Post), Key: "edit " + ref.String(),
	}
	a.stepped(thread, m.Steps)
	if m.Steps != nil {
		r.Skip = func() bool { return m.Skip() || a.same(ref, now) }
		r.Made = func() { a.shown.Put(ref, now.Face()) }
		if r.Float = m.Floats(); r.Float {
			return a.rest.Call(ctx, r)
		}
	}
	err = a.rest.Call(ctx, r)
	if other := otherHome(api.PlaceOf(thread), r.IDs[0]); other != "" && slices.Contains(elsewhere, api.Code(err)) {
		there := r
		there.IDs = []string{other, ref.ID}
		if failed := a.rest.Call(ctx, there); !slices.Contains(elsewhere, api.Code(failed)) {
			r, err = there, failed
		}
	}
	if other, ok := layout.Otherwise(now, m); ok && api.Code(err) == api.CodeBadForm && a.stands(ctx, r.IDs, len(other.Card) > 0) {
		r.Body = other.Change()
		err = a.rest.Call(ctx, r)
	}
	if api.Code(err) == api.CodeArchived {
		if err = a.unarchive(ctx, r.IDs[0]); err == nil {
			err = a.rest.Call(ctx, r)
		}
	}
	return api.Final(err)
}

// stands says whether a message is, or is no card, as far as that can be found out:
// Discord never makes one of the other.
func (a *Adapter) stands(ctx context.Context, ids []string, card bool) bool {
	m, err := a.message(ctx, ids[0], ids[1], outbox.Approval)
	return err != nil || m.Flags&discordgo.MessageFlagsIsComponentsV2 != 0 == card
}

// standsAt is the channel of a message of the bot's. Where a conversation left a
// thread, what was said in it stands there still.
func (a *Adapter) standsAt(ref chat.MessageRef, h home) string {
	if _, here := a.homes.places.Get(ref.ID); h.replyTo == "" || here {
		return h.channel
	}
	if p := api.ReadPlace(ref.Channel); a.atlas.IsThread(p.Thread) {
		return p.Thread
	}
	return h.channel
}

// otherHome is the channel above a thread, or the thread, whichever is not the one: where
// a conversation left a thread, another process need not know which of its messages stand
// where. "" for a direct conversation.
func otherHome(p api.Place, channel string) string {
	switch {
	case p.Direct():
		return ""
	case channel == p.Thread:
		return p.Channel
	}
	return p.Thread
}

// unarchive opens a thread that was closed for silence: messages in it can't be
// changed meanwhile.
func (a *Adapter) unarchive(ctx context.Context, thread string) error {
	return a.rest.Call(ctx, api.Request{
		Method: "PATCH", Path: "/channels/{}", IDs: []string{thread},
		Body: map[string]any{"archived": false}, Priority: outbox.Approval,
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
			if api.Code(err) == discordgo.ErrCodeUnknownEmoji {
				err = a.putEmoji(ctx, c, ref.ID, form, p)
			}
		}
		if api.Code(err) == api.CodeArchived && a.unarchive(ctx, c) == nil {
			err = a.putEmoji(ctx, c, ref.ID, emoji, p)
		}
		if i == len(channels)-1 || !slices.Contains(elsewhere, api.Code(err)) {
			break
		}
	}
	var e *api.Error
	if errors.As(err, &e) && api.Passes(err) {
		return api.SaidBy(e) // it is not waited for
	}
	return api.Final(err)
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
	return a.rest.Call(ctx, api.Request{
		Method: "PUT", Path: "/channels/{}/messages/{}/reactions/{}/@me", IDs: []string{channel, id, emoji}, Priority: p,
	})
}

// Stood is when a message was sent.
func (a *Adapter) Stood(ref chat.MessageRef) time.Time { return api.SentAt(ref.ID) }
