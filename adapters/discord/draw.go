package discord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/outbox"
)

// mostTries is how often a call is made whose outcome is unknown.
const mostTries = 3

// written writes a post that needs nothing else as messages.
func (a *Adapter) written(thread chat.ThreadID, p chat.Post) []part {
	switch {
	case p.Steps != nil:
		return []part{stepsPart(thread, p.Steps)}
	case p.Approval != nil:
		card := approvalPart(p.Approval)
		if !a.o.NoButtons {
			card.buttons = a.buttons(thread, p.Approval)
		}
		if !p.Approval.Quiet && p.Approval.Outcome == "" {
			card.pings = deciders(p.Approval)
		}
		return []part{card}
	case p.Text != nil && p.Text.Summons != nil:
		return summonsParts(p.Text, !p.Text.Summons.Quiet)
	case p.Text != nil:
		return answerParts(p.Text)
	}
	return nil
}

// partsOf writes a post as messages, also one of a file, which is in the store.
func (a *Adapter) partsOf(ctx context.Context, thread chat.ThreadID, p chat.Post) ([]part, error) {
	if p.File != nil {
		file, err := a.filePart(ctx, thread, p)
		return []part{file}, err
	}
	parts := a.written(thread, p)
	if len(parts) == 0 {
		return nil, errors.New("post nothing")
	}
	return parts, nil
}

// Post makes a post, of several messages if it is long, and returns the
// reference of the first. With look, those that stand already are not made
// again. It returns chat.ErrGone when the thread can't be written to.
func (a *Adapter) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if ref, ok := a.confided(ctx, thread, p); ok {
		return ref, nil
	}
	if placeOf(thread).direct() {
		p = p.Confided()
	}
	if p.Text != nil {
		p.Text = p.Text.Linked(func(ref chat.MessageRef) string { return a.link(ctx, thread, ref) })
	}
	parts, err := a.partsOf(ctx, thread, p)
	if err != nil {
		return chat.MessageRef{}, err
	}
	h, err := a.move(ctx, placeOf(thread), "")
	if err != nil {
		return chat.MessageRef{}, final(err)
	}
	s := &sending{a: a, thread: thread, home: h, post: p, parts: parts, priority: outbox.UrgencyOf(p)}
	s.hinted()
	s.callBack(ctx)
	posted := a.votes.Posting(look)
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
	ref := refIn(thread, p.Approval, first)
	if p.Steps != nil {
		a.drawn.Newer(ref, p.Steps.Version)
		a.shown.Put(ref, parts[0].face())
	}
	if p.Approval == nil || p.Approval.Outcome != "" {
		return ref, nil
	}
	a.cards.Drew(thread, p.Approval)
	if err := posted(ctx, thread, ref, p.Approval); err != nil {
		return chat.MessageRef{}, err
	}
	return ref, a.ballot(ctx, ref, p.Approval)
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

// ballot puts the emoji on an approval by which people decide. They are a
// convenience: where Discord refuses one, people can still pick it themselves.
func (a *Adapter) ballot(ctx context.Context, ref chat.MessageRef, p *chat.Approval) error {
	for _, emoji := range p.Ballot() {
		if err := a.react(ctx, ref, emoji, outbox.Approval); err != nil {
			if !refused(err) {
				return err
			}
			a.log.Warn("put an emoji on an approval", "error", err)
		}
	}
	return nil
}

// Edit makes a message show p as it is now. Edits of steps at work are left out
// for newer ones and for whatever is more important; an older version never
// replaces a newer one.
func (a *Adapter) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	parts := a.written(thread, p)
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	if p.Approval != nil {
		parts[0] = a.redrawn(thread, p, parts[0])
		if p.Approval.Outcome != "" {
			a.votes.Over(ref)
		}
	}
	h, err := a.where(ctx, placeOf(thread))
	if err != nil {
		return final(err)
	}
	r := request{
		method: "PATCH", path: "/channels/{}/messages/{}", ids: []string{a.standsAt(ref, h), ref.ID},
		body: parts[0].change(), priority: outbox.PriorityOf(p), key: "edit " + ref.String(),
	}
	if p.Steps != nil {
		version, text := p.Steps.Version, parts[0]
		r.skip = func() bool { return !a.drawn.Newer(ref, version) || a.same(ref, text) }
		r.made = func() { a.shown.Put(ref, text.face()) }
		if r.float = !p.Steps.Done; r.float {
			return a.rest.call(ctx, r)
		}
	}
	err = a.again(ctx, func() error { return a.rest.call(ctx, r) })
	if other := otherHome(placeOf(thread), r.ids[0]); other != "" && slices.Contains(elsewhere, code(err)) {
		there := r
		there.ids = []string{other, ref.ID}
		if failed := a.again(ctx, func() error { return a.rest.call(ctx, there) }); !slices.Contains(elsewhere, code(failed)) {
			r, err = there, failed
		}
	}
	if other, ok := otherwise(parts[0], p); ok && code(err) == codeBadForm && a.stands(ctx, r.ids, len(other.card) > 0) {
		r.body = other.change()
		err = a.again(ctx, func() error { return a.rest.call(ctx, r) })
	}
	if code(err) == codeArchived {
		if err = a.unarchive(ctx, r.ids[0]); err == nil {
			err = a.again(ctx, func() error { return a.rest.call(ctx, r) })
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

// React puts the bot's emoji on a message. That it is there already is fine.
func (a *Adapter) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	return final(a.react(ctx, ref, emoji, outbox.Low))
}

func (a *Adapter) react(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	channels, err := a.reach(ctx, ref)
	if err != nil {
		return err
	}
	emoji = chat.NormalEmoji(emoji)
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
	if err != nil {
		return fmt.Errorf("react: %w", err)
	}
	return nil
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
	return a.again(ctx, func() error {
		return a.rest.call(ctx, request{
			method: "PUT", path: "/channels/{}/messages/{}/reactions/{}/@me", ids: []string{channel, id, emoji}, priority: p,
		})
	})
}
