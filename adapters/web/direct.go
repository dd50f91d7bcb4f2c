package web

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"nod/chat"
)

// This file is what the page knows of people and places.

// Able is everything.
func (a *Adapter) Able() chat.Able {
	return chat.Able{Grows: true, Asks: true, Sees: true, Elsewhere: true}
}

// Headline is not called.
func (a *Adapter) Headline(context.Context, chat.ThreadID, chat.MessageRef) (chat.Shown, error) {
	return chat.Shown{}, errors.ErrUnsupported
}

// Place is the direct conversation with one of the people of the page.
func (a *Adapter) Place(_ context.Context, place string) (chat.ThreadID, error) {
	id, ok := strings.CutPrefix(place, "user:")
	if _, known := person(id); !ok || !known {
		return chat.ThreadID{}, chat.ErrElsewhere
	}
	return directOf(chat.UserID(id)), nil
}

// Direct says whether a thread is a direct conversation.
func (a *Adapter) Direct(thread chat.ThreadID) bool { return isDirect(thread.Channel) }

// Partner is the person with whom it is one.
func (a *Adapter) Partner(_ context.Context, thread chat.ThreadID) chat.UserID {
	p, _ := first(People, func(p chat.User) bool { return thread == directOf(p.ID) })
	return p.ID
}

// People lists who of the people of the page is named.
func (a *Adapter) People(_ context.Context, _ chat.ThreadID, rule string, _ int) ([]chat.User, bool, error) {
	id, user := strings.CutPrefix(rule, "user:")
	if p, ok := person(id); ok && user {
		return []chat.User{p}, true, nil
	}
	return nil, true, nil
}

// Who says that everybody may decide.
func (a *Adapter) Who(_ context.Context, _ string, u chat.User) (chat.User, error) { return u, nil }

// Reactions lists what people put on a message.
func (a *Adapter) Reactions(_ context.Context, p chat.Pending, _ bool) (out []chat.Reaction, err error) {
	it, _ := a.board.find(p.Ref)
	for _, m := range it.reactions {
		for _, id := range m.by {
			if who, ok := person(string(id)); ok {
				out = append(out, chat.Reaction{On: p.Ref, By: who, Emoji: m.emoji})
			}
		}
	}
	return out, nil
}

// Since has nothing to look for: the page is gone while nobody serves it.
func (a *Adapter) Since(context.Context, []chat.Watermark, time.Duration) (bool, error) {
	return true, nil
}

// Link gives none.
func (a *Adapter) Link(context.Context, chat.ThreadID, chat.MessageRef) string { return "" }

// Visit is what a person sees: all channels, and their own conversation with nod.
func (a *Adapter) Visit(_ context.Context, _ chat.ThreadID, who chat.User) (chat.Visit, error) {
	return chat.Visit{
		Who:    who,
		Sees:   view{Me: who}.reads,
		Member: func(context.Context, chat.ThreadID, string) (bool, error) { return false, nil },
		Link: func(t chat.ThreadID, ref chat.MessageRef) string {
			return "http://" + a.listens.Addr().String() + view{Me: who}.to(t, ref)
		},
	}, nil
}

// Stood does not know.
func (a *Adapter) Stood(chat.MessageRef) time.Time { return time.Time{} }

// asksIn is the thread that the approval on an item is of, wherever its card stands.
func (it item) asksIn() chat.ThreadID {
	if p := it.card(); p != nil {
		return cmp.Or(p.Home, it.thread)
	}
	return it.thread
}
