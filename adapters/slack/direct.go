package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/outbox"
)

// openDirect opens the direct conversation with somebody
// (https://docs.slack.dev/reference/methods/conversations.open). Repeating it is
// harmless.
func (a *Adapter) openDirect(ctx context.Context, who string) (string, error) {
	var said struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	err := a.web.call(ctx, request{method: "conversations.open", args: url.Values{"users": {who}}, priority: outbox.Approval, answer: &said})
	if err == nil && said.Channel.ID == "" {
		err = errors.New("the answer names no conversation")
	}
	if err != nil {
		return "", gone(fmt.Errorf("open a direct conversation: %w", err))
	}
	return said.Channel.ID, nil
}

// told is an error of a direct message: whatever Slack refused it for is said where
// people decide.
func told(err error) error {
	if c := code(err); c != "" && errors.Is(err, chat.ErrGone) {
		return fmt.Errorf("%w: %w", refusal(c), err)
	}
	return err
}

// Deciders lists who is meant by rules: people of those whom the bot hears in a direct
// conversation and lets decide. Somebody with whom the thread is one has the card
// there already.
func (a *Adapter) Deciders(ctx context.Context, thread chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error) {
	if err := a.signedIn(ctx); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{a.partner(ctx, channelOf(thread.Channel)): true}
	for _, rule := range rules {
		ids, known, err := a.whom(ctx, rule)
		switch {
		case err != nil:
			return nil, nil, err
		case !known:
			unknown = append(unknown, rule)
		}
		for _, id := range ids {
			if seen[id] || len(who) >= most {
				continue
			}
			seen[id] = true
			u, err := a.voter(ctx, id, "")
			switch {
			case err != nil && (code(err) == "" || dead(err)):
				return nil, nil, fmt.Errorf("look up who may decide: %w", err)
			case err == nil && u.Barred == "" && !u.Bot:
				who = append(who, u)
			}
		}
	}
	return who, unknown, nil
}

// partner is the person with whom a conversation is a direct one; "" where there is
// none, and in doubt.
func (a *Adapter) partner(ctx context.Context, channel string) string {
	if !isDM(channel) {
		return ""
	}
	var said struct {
		Channel struct {
			User string `json:"user"`
		} `json:"channel"`
	}
	err := a.web.call(ctx, request{
		method: "conversations.info", args: url.Values{"channel": {channel}}, priority: outbox.Approval, answer: &said,
	})
	if err != nil {
		return ""
	}
	return said.Channel.User
}

// whom lists whom a rule means; known is false for a group that Slack does not show.
func (a *Adapter) whom(ctx context.Context, rule string) (ids []string, known bool, err error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "user" && userID.MatchString(id):
		return []string{id}, true, nil
	case kind != "group":
		return nil, true, nil // another platform's
	}
	ids, err = a.members(ctx, id)
	switch {
	case err == nil:
		return slices.Compact(slices.Sorted(slices.Values(ids))), true, nil
	case code(err) != "" && !dead(err):
		a.log.Warn("list who may decide", "error", err)
		return nil, false, nil
	}
	return nil, false, err
}
