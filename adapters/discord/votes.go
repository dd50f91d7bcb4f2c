package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// turns gives reactions their event ids. Discord gives none, so an id is made
// of what happened, when in so many seconds, and how often the reaction was put
// on and taken off by then: two processes that hear the same agree on it, and a
// reaction that is put on again is a new event.
type turns struct {
	mu   *sync.Mutex
	seen map[string]turn
}

type turn struct {
	removed bool
	n       int
}

const turnSpan = 10 * time.Second

func newTurns() turns { return turns{mu: &sync.Mutex{}, seen: map[string]turn{}} }

func (t *turns) key(r reaction, removed bool, now time.Time) string {
	what := strings.Join([]string{r.MessageID, r.UserID, r.Emoji.name(), strconv.FormatBool(r.Burst)}, ":")
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) >= mostNoted {
		clear(t.seen)
	}
	last, ok := t.seen[what]
	if !ok || last.removed != removed {
		last = turn{removed, last.n + 1}
		t.seen[what] = last
	}
	return fmt.Sprintf("discord:react:%s:%t:%d:%d", what, removed, last.n, now.Unix()/int64(turnSpan.Seconds()))
}

// reacted takes in a reaction.
func (a *Adapter) reacted(ctx context.Context, r reaction, removed bool, id string) error {
	if r.UserID == a.self.who().ID {
		return errNotOurs
	}
	p, err := a.reactedIn(ctx, r)
	if err != nil {
		return err
	}
	out := chat.Reaction{
		On: refOf(p, r.MessageID), By: chat.User{ID: chat.UserID(r.UserID)},
		Emoji: chat.NormalEmoji(r.Emoji.name()), Removed: removed,
	}
	switch {
	case r.Member != nil && r.Member.User != nil:
		out.By = userOf(*r.Member.User, r.Member)
	case r.GuildID != "" && !removed:
		if out.By, err = a.user(ctx, r.UserID); err != nil { // a bot's decides nothing
			return err
		}
	}
	a.found.heard(out, a.o.Now())
	fresh, err := a.o.Inbox.Reaction(ctx, out, id)
	if err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	a.count(fresh)
	return nil
}

// reactedIn finds the place of the message that a reaction is on. One of the
// bot's own in a channel stands in a chain of replies.
func (a *Adapter) reactedIn(ctx context.Context, r reaction) (place, error) {
	p, err := a.standsIn(ctx, r.GuildID, r.ChannelID, r.MessageID)
	if err != nil || r.AuthorID != a.self.who().ID || p != (place{r.ChannelID, r.MessageID}) {
		return p, err
	}
	var m message
	err = a.rest.call(ctx, request{
		method: "GET", path: "/channels/{}/messages/{}", ids: []string{r.ChannelID, r.MessageID}, priority: outbox.Answer, answer: &m,
	})
	if err != nil {
		return p, err
	}
	if m.Reference != nil && m.Reference.MessageID != "" {
		p.thread = m.Reference.MessageID
		a.homes.put(r.MessageID, p)
	}
	return p, nil
}

// cleared takes in that a moderator took reactions off a message.
func (a *Adapter) cleared(ctx context.Context, r reaction) error {
	for p, err := range a.o.Inbox.Pending(ctx, Platform) {
		if err != nil {
			return fmt.Errorf("list approvals: %w", err)
		}
		if p.Ref.ID == r.MessageID {
			return a.look(ctx, p)
		}
	}
	return nil
}

// user looks a person up.
func (a *Adapter) user(ctx context.Context, id string) (chat.User, error) {
	var u user
	err := a.rest.call(ctx, request{method: "GET", path: "/users/{}", ids: []string{id}, priority: outbox.Answer, answer: &u})
	if err != nil {
		return chat.User{ID: chat.UserID(id)}, fmt.Errorf("look a user up: %w", err)
	}
	u.ID = id
	return userOf(u, nil), nil
}

// found remembers which reactions were found, and which were heard of, so that
// a look does not tell again what nothing has changed about, and does not
// bring back what was taken off while it looked.
type found struct {
	mu   *sync.Mutex
	put  map[string]bool
	last map[string]time.Time
}

func newFound() found {
	return found{mu: &sync.Mutex{}, put: map[string]bool{}, last: map[string]time.Time{}}
}

func reactionKey(r chat.Reaction) string {
	return r.On.String() + " " + string(r.By.ID) + " " + r.Emoji
}

func (f *found) heard(r chat.Reaction, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) >= mostNoted {
		clear(f.last)
	}
	f.last[reactionKey(r)] = at
	delete(f.put, reactionKey(r))
}

// stale says whether the reaction is better known than by a look that began then.
func (f *found) stale(r chat.Reaction, began time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.last[reactionKey(r)]
	return ok && !at.Before(began) || !r.Removed && f.put[reactionKey(r)]
}

func (f *found) done(r chat.Reaction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.put) >= mostNoted {
		clear(f.put)
	}
	if r.Removed {
		delete(f.put, reactionKey(r))
		return
	}
	f.put[reactionKey(r)] = true
}

// reactions looks at all approvals that wait, and notes where they stand.
func (a *Adapter) reactions(ctx context.Context) error {
	var waiting []chat.Pending
	for p, err := range a.o.Inbox.Pending(ctx, Platform) {
		if err != nil {
			return fmt.Errorf("list approvals: %w", err)
		}
		waiting = append(waiting, p)
	}
	var failed error
	for _, p := range waiting {
		a.homes.put(p.Ref.ID, readPlace(p.Ref.Channel))
		if err := a.look(ctx, p); err != nil {
			failed = errors.Join(failed, missing(err))
		}
	}
	return failed
}

// look puts what changed about the reactions on an approval: denials first,
// then what was taken off, then approvals. An approval that is put may have
// been taken off since the look, which a second look finds.
func (a *Adapter) look(ctx context.Context, p chat.Pending) error {
	for range 2 {
		began := a.o.Now()
		on, err := a.reactionsOn(ctx, p)
		if err != nil {
			return err
		}
		again, err := a.differences(ctx, p, on, began)
		if err != nil || !again {
			return err
		}
		p.Approved = slices.DeleteFunc(on, func(r chat.Reaction) bool { return !slices.Contains(p.Approve, r.Emoji) })
	}
	return nil
}

// differences puts the differences between what is on an approval and what
// counts. It says whether an approval was among them.
func (a *Adapter) differences(ctx context.Context, p chat.Pending, on []chat.Reaction, began time.Time) (approved bool, err error) {
	has := func(list []chat.Reaction, r chat.Reaction) bool {
		return slices.ContainsFunc(list, func(o chat.Reaction) bool { return reactionKey(o) == reactionKey(r) })
	}
	var denials, removed, approvals []chat.Reaction
	for _, r := range p.Approved {
		if r.On = p.Ref; !has(on, r) {
			r.Removed, r.Found = true, true
			removed = append(removed, r)
		}
	}
	for _, r := range on {
		switch {
		case slices.Contains(p.Deny, r.Emoji):
			denials = append(denials, r)
		case slices.Contains(p.Approve, r.Emoji) && !has(p.Approved, r):
			approvals = append(approvals, r)
		}
	}
	for _, r := range slices.Concat(denials, removed, approvals) {
		if a.found.stale(r, began) {
			continue
		}
		if err := a.putFound(ctx, r, began); err != nil {
			return approved, err
		}
		approved = approved || !r.Removed && slices.Contains(p.Approve, r.Emoji)
	}
	return approved, nil
}

// putFound puts a reaction that was found. Its id bears the time of the look:
// it may have been put on, taken off and put on again, and to count one twice
// does no harm.
func (a *Adapter) putFound(ctx context.Context, r chat.Reaction, began time.Time) error {
	id := fmt.Sprintf("discord:found:%s:%s:%s:%t:%d", r.On.ID, r.By.ID, r.Emoji, r.Removed, began.UnixMicro())
	if _, err := a.o.Inbox.Reaction(ctx, r, id); err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	a.found.done(r)
	return nil
}

// reactionsOn gives the reactions of people on an approval that mean something
// for it, in any skin tone, super reactions too.
func (a *Adapter) reactionsOn(ctx context.Context, p chat.Pending) ([]chat.Reaction, error) {
	channels, err := a.reach(ctx, p.Ref)
	if err != nil {
		return nil, err
	}
	var m message
	err = a.rest.call(ctx, request{
		method: "GET", path: "/channels/{}/messages/{}", ids: []string{channels[0], p.Ref.ID}, priority: outbox.Approval, answer: &m,
	})
	if err != nil {
		return nil, err
	}
	var out []chat.Reaction
	for _, r := range m.Reactions {
		e := chat.NormalEmoji(r.Emoji.name())
		if !slices.Contains(p.Approve, e) && !slices.Contains(p.Deny, e) {
			continue
		}
		for _, burst := range []string{"0", "1"} {
			who, err := a.whoReacted(ctx, channels[0], p.Ref.ID, r.Emoji.name(), burst)
			if err != nil {
				return nil, err
			}
			for _, u := range who {
				if u.ID != a.self.who().ID && u.ID != "" {
					out = append(out, chat.Reaction{On: p.Ref, By: userOf(u, nil), Emoji: e, Found: true})
				}
			}
		}
	}
	return out, nil
}

// whoReacted lists the people who put an emoji on a message.
func (a *Adapter) whoReacted(ctx context.Context, channel, id, emoji, kind string) ([]user, error) {
	var out []user
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "type": {kind}}
	for range mostPages {
		var page []user
		err := a.rest.call(ctx, request{
			method: "GET", path: "/channels/{}/messages/{}/reactions/{}", ids: []string{channel, id, emoji}, query: query,
			priority: outbox.Approval, answer: &page,
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
