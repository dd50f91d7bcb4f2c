package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/people"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// turns gives reactions their event ids. Discord gives none, so an id is made
// of what happened, when in so many seconds, and how often the reaction was put
// on and taken off by then: two processes that hear the same agree on it, and a
// reaction that is put on again is a new event.
type turns struct {
	mu   sync.Mutex
	seen map[string]turn
}

type turn struct {
	removed bool
	n       int
}

const turnSpan = 10 * time.Second

func (t *turns) key(r api.Reaction, removed bool, now time.Time) string {
	what := strings.Join([]string{r.MessageID, r.UserID, r.Emoji.APIName(), strconv.FormatBool(r.Burst)}, ":")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil || len(t.seen) >= mostNoted {
		t.seen = map[string]turn{}
	}
	last, ok := t.seen[what]
	if !ok || last.removed != removed {
		last = turn{removed, last.n + 1}
		t.seen[what] = last
	}
	return fmt.Sprintf("discord:react:%s:%t:%d:%d", what, removed, last.n, now.Unix()/int64(turnSpan.Seconds()))
}

// cleared notes that a moderator took all reactions off a message, or those with an
// emoji: one that is put on again is a new event then, too.
func (t *turns) cleared(r api.Reaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for what, last := range t.seen {
		of := strings.HasPrefix(what, r.MessageID+":") && (r.Emoji.APIName() == "" || strings.Contains(what, ":"+r.Emoji.APIName()+":"))
		if of && !last.removed {
			t.seen[what] = turn{true, last.n + 1}
		}
	}
}

// flip is a reaction that was put on or taken off.
type flip struct {
	api.Reaction
	removed bool
	id      string // of the event
}

// reacted takes in a reaction. One that comes late decides only if it still stands.
func (a *Adapter) reacted(ctx context.Context, f flip, late bool) error {
	r, removed := f.Reaction, f.removed
	emoji := chat.NormalEmoji(r.Emoji.APIName())
	if r.UserID == a.self.who().ID || !a.Means(emoji) {
		return errNotOurs
	}
	p, err := a.reactedIn(ctx, &r)
	if err != nil {
		return err
	}
	if ours, err := a.reactedOurs(ctx, r, p); err != nil || !ours {
		return cmp.Or(err, errNotOurs)
	}
	out := chat.Reaction{On: api.RefOf(p, r.MessageID), By: chat.User{ID: chat.UserID(r.UserID)}, Emoji: emoji, Removed: removed}
	switch {
	case r.Member != nil && r.Member.User != nil:
		out.By = api.UserOf(*r.Member.User, r.Member)
	case !removed && !front.Decides(emoji): // a direct conversation names nobody
		if out.By, err = a.user(ctx, r.UserID); err != nil {
			return err
		}
	}
	if !removed && !front.Decides(emoji) { // the judge of votes looks people up itself
		if out.By.Barred, err = a.people.Barred(ctx, people.Speaker{User: r.UserID, Member: r.Member, Guild: r.GuildID, Channel: r.ChannelID, Parent: p.Channel}); err != nil {
			return err
		}
	}
	return a.Reacted(ctx, out, late, f.id)
}

// Who looks somebody up now, and says why they may not decide in a place: whoever left a
// server, or was removed from it, decides nothing there.
func (a *Adapter) Who(ctx context.Context, at string, u chat.User) (chat.User, error) {
	if err := a.signedIn(ctx); err != nil {
		return u, err
	}
	p := api.ReadPlace(at)
	s := people.Speaker{User: string(u.ID), Channel: chat.FirstOf(p.Thread, p.Channel), Parent: p.Channel}
	if !p.Direct() {
		c, err := a.atlas.Channel(ctx, p.Channel)
		if err != nil {
			return u, fmt.Errorf("look up the guild: %w", err)
		}
		m, is, err := a.people.Member(ctx, c.GuildID, s.User, outbox.Approval)
		if err != nil || !is {
			u.Barred, u.Unheard = "only members of this server may decide here", true
			return u, err
		}
		if m.User != nil {
			u = api.UserOf(*m.User, &m)
		}
		s.Guild, s.Member = c.GuildID, &m
	} else if err := a.anew(ctx, &u); err != nil {
		return u, err
	}
	var err error
	u.Barred, err = a.people.Barred(ctx, s)
	u.Unheard = u.Barred != ""
	return u, err
}

// anew forgets what was known of a person in a direct conversation.
func (a *Adapter) anew(ctx context.Context, u *chat.User) (err error) {
	if u.Name == "" {
		if *u, err = a.user(ctx, string(u.ID)); err != nil {
			return err
		}
	}
	return a.people.Anew(ctx, string(u.ID))
}

// soon is how young a message may be that waits to be put beside a reaction on it.
const soon = time.Minute

// reactedOurs says whether a reaction is on a message of a conversation of the
// bot's. The message itself may have come just before it, in another lane.
func (a *Adapter) reactedOurs(ctx context.Context, r api.Reaction, p api.Place) (bool, error) {
	if r.AuthorID != "" && r.AuthorID == a.self.who().ID {
		return true, nil
	}
	ours, err := a.ours(ctx, p)
	if err == nil && !ours && r.AuthorID == "" && p.Thread == r.ChannelID { // a card may stand in a thread of people's
		if _, err = a.reactedTo(ctx, &r); err == nil && r.AuthorID == a.self.who().ID {
			return true, nil
		}
	}
	if err != nil || ours || a.o.Now().Sub(api.SentAt(r.MessageID)) > soon {
		return ours, err
	}
	if err := a.lanes.Behind(ctx, r.ChannelID); err != nil {
		return false, err
	}
	return a.ours(ctx, p)
}

// reactedIn finds the place of the message that a reaction is on. One of the
// bot's own in a channel stands in a chain of replies, or is a card alone. Whose it is
// Discord does not say of a reaction that was taken off, so that is asked for.
func (a *Adapter) reactedIn(ctx context.Context, r *api.Reaction) (api.Place, error) {
	p, err := a.standsIn(ctx, r.GuildID, r.ChannelID, r.MessageID)
	if err != nil || r.AuthorID != "" && r.AuthorID != a.self.who().ID || p != (api.Place{Channel: r.ChannelID, Thread: r.MessageID}) {
		return p, err
	}
	m, err := a.reactedTo(ctx, r)
	if err != nil {
		return p, err
	}
	if r.AuthorID == a.self.who().ID && m.Reference != nil && m.Reference.MessageID != "" {
		p.Thread = m.Reference.MessageID
		a.homes.places.Put(r.MessageID, p)
	}
	return p, nil
}

// reactedTo is the message that a reaction is on, whose author is noted where that was not
// known. One that is not there, or not for the bot, is empty then.
func (a *Adapter) reactedTo(ctx context.Context, r *api.Reaction) (m api.Message, err error) {
	m, err = a.message(ctx, r.ChannelID, r.MessageID, outbox.Answer)
	switch {
	case r.AuthorID == "" && api.Refused(err) && !api.Passes(err):
		return api.Message{}, nil
	case err == nil && r.AuthorID == "" && m.Author != nil:
		r.AuthorID = m.Author.ID
	}
	return m, err
}

func (a *Adapter) user(ctx context.Context, id string) (chat.User, error) {
	u, err := api.Get[api.User](ctx, a.rest, outbox.Answer, "/users/{}", id)
	if err != nil {
		return chat.User{ID: chat.UserID(id)}, fmt.Errorf("look a user up: %w", err)
	}
	u.ID = id
	return api.UserOf(u, nil), nil
}

// Reactions gives the reactions of people on an approval that mean something
// for it, in any skin tone, super reactions too. It notes where the approval
// stands. A look at all approvals may be at thousands, and no answer waits for it.
func (a *Adapter) Reactions(ctx context.Context, p chat.Pending, all bool) ([]chat.Reaction, error) {
	priority := outbox.Approval
	if all {
		priority = outbox.Steps
	}
	a.homes.places.Put(p.Ref.ID, api.ReadPlace(p.Ref.Channel))
	m, channel, err := a.find(ctx, p.Ref, priority)
	if err != nil {
		return nil, err
	}
	var out []chat.Reaction
	for _, r := range m.Reactions {
		e := chat.NormalEmoji(r.Emoji.APIName())
		if !slices.Contains(p.Approve, e) && !slices.Contains(p.Deny, e) {
			continue
		}
		for _, burst := range []string{"0", "1"} {
			who, err := a.whoReacted(ctx, []string{channel, p.Ref.ID, r.Emoji.APIName()}, burst, priority)
			if err != nil {
				return nil, asGone(err)
			}
			for _, u := range who {
				if u.ID != a.self.who().ID && u.ID != "" {
					out = append(out, chat.Reaction{On: p.Ref, By: api.UserOf(u, nil), Emoji: e})
				}
			}
		}
	}
	return out, nil
}

// Headline is the first line of a message: each card begins with it, in all its forms.
func (a *Adapter) Headline(ctx context.Context, _ chat.ThreadID, ref chat.MessageRef) (chat.Shown, error) {
	m, _, err := a.find(ctx, ref, outbox.Approval)
	if err != nil {
		return chat.Shown{}, err
	}
	return chat.Shown{Headline: chat.FirstOf(m.Lines()...), Digest: front.DigestIn(m.Content + string(m.Components))}, nil
}

// find gives a message of the bot's, and the channel in which it stands.
func (a *Adapter) find(ctx context.Context, ref chat.MessageRef, priority outbox.Priority) (m api.Message, channel string, err error) {
	channels, err := a.reach(ctx, ref)
	for _, channel = range channels {
		m, err = a.message(ctx, channel, ref.ID, priority)
		if !slices.Contains(elsewhere, api.Code(err)) {
			break
		}
	}
	return m, channel, asGone(err)
}

func (a *Adapter) message(ctx context.Context, channel, id string, priority outbox.Priority) (m api.Message, err error) {
	return api.Get[api.Message](ctx, a.rest, priority, "/channels/{}/messages/{}", channel, id)
}

// whoReacted lists the people who put an emoji on a message: on is the channel, the message
// and the emoji. The kind of a super reaction is "1", else "0".
func (a *Adapter) whoReacted(ctx context.Context, on []string, kind string, priority outbox.Priority) ([]api.User, error) {
	var out []api.User
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "type": {kind}}
	for range mostPages {
		var page []api.User
		err := a.rest.Call(ctx, api.Request{
			Method: "GET", Path: "/channels/{}/messages/{}/reactions/{}", IDs: on, Query: query, Priority: priority, Answer: &page,
		})
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < pageSize {
			break
		}
		query.Set("after", page[len(page)-1].ID)
	}
	return out, nil
}

// asGone is an error of looking at what is not there any more, or not for the bot.
func asGone(err error) error {
	if err != nil && missing(err) == nil {
		return fmt.Errorf("%w: %w", chat.ErrGone, err)
	}
	return err
}
