package slack

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// reactions looks at all approvals that wait.
func (a *Adapter) reactions(ctx context.Context) error {
	return a.votes.LookAll(ctx, a.o.Inbox.Pending(ctx, Platform), missing)
}

// putFound puts a reaction that was found.
func (a *Adapter) putFound(ctx context.Context, r chat.Reaction, began time.Time) error {
	by, err := a.voter(ctx, string(r.By.ID), channelOf(r.On.Channel))
	if err != nil {
		return fmt.Errorf("look up who reacted: %w", err)
	}
	r.By = by
	what := fmt.Sprintf("found:%v:%s:%s", r.Removed, r.By.ID, r.Emoji)
	if _, err := a.o.Inbox.Reaction(ctx, r, changeKeys("", what, channelOf(r.On.Channel), r.On.ID, stamp(began))...); err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	return nil
}

// stands says whether a reaction is on a message now, with whatever skin tone. Where the
// message is gone there is none.
func (a *Adapter) stands(ctx context.Context, r chat.Reaction, on item) (bool, error) {
	all, err := a.reactionsOn(ctx, chat.Pending{Ref: refOf(a.who().TeamID, on.Channel, on.TS)}, false)
	if err = missing(err); err != nil {
		return false, fmt.Errorf("look whether a reaction stands: %w", err)
	}
	return slices.ContainsFunc(all, func(o chat.Reaction) bool { return o.By.ID == r.By.ID && o.Emoji == r.Emoji }), nil
}

// reactionsOn gives the reactions of people on an approval.
func (a *Adapter) reactionsOn(ctx context.Context, p chat.Pending, _ bool) ([]chat.Reaction, error) {
	var said struct {
		Message struct {
			Reactions []struct {
				Name  string   `json:"name"`
				Users []string `json:"users"`
			} `json:"reactions"`
		} `json:"message"`
	}
	args := url.Values{"channel": {channelOf(p.Ref.Channel)}, "timestamp": {p.Ref.ID}, "full": {"true"}}
	if err := a.web.call(ctx, request{method: "reactions.get", args: args, priority: outbox.Approval, answer: &said}); err != nil {
		return nil, err
	}
	var out []chat.Reaction
	for _, r := range said.Message.Reactions {
		for _, u := range r.Users {
			if u != a.who().UserID {
				out = append(out, chat.Reaction{On: p.Ref, By: chat.User{ID: chat.UserID(u)}, Emoji: chat.NormalEmoji(r.Name)})
			}
		}
	}
	return out, nil
}
