package web

import (
	"cmp"
	"context"
	"strings"

	"nod/chat"
)

// Copy shows a card outside of its thread: in the direct conversation with one of the
// people of the page.
func (a *Adapter) Copy(ctx context.Context, place string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	id, ok := strings.CutPrefix(place, "user:")
	if _, known := person(id); !ok || !known {
		return chat.ThreadID{}, chat.MessageRef{}, chat.ErrElsewhere
	}
	at := directOf(chat.UserID(id))
	ref, err := a.Post(ctx, at, p, look)
	return at, ref, err
}

// Deciders lists who of the people of the page is named. Somebody in whose direct
// conversation it is asked has the card there already.
func (a *Adapter) Deciders(_ context.Context, thread chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error) {
	for _, rule := range rules {
		p, ok := person(strings.TrimPrefix(rule, "user:"))
		if ok && strings.HasPrefix(rule, "user:") && thread != directOf(p.ID) && len(who) < most {
			who = append(who, p)
		}
	}
	return who, nil, nil
}

// asksIn is the thread that the approval on an item is of, wherever its card stands.
func (it item) asksIn() chat.ThreadID {
	if it.post == nil || it.post.Approval == nil {
		return it.thread
	}
	return cmp.Or(it.post.Approval.Home, it.thread)
}
