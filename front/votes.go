package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nod/chat"
)

// FindVotes looks once at all approvals that wait. A card that is gone has none.
func (f *Front) FindVotes(ctx context.Context) error {
	return f.votes.LookAll(ctx, f.o.Inbox.Pending(ctx, f.o.Platform), func(err error) error {
		if errors.Is(err, chat.ErrGone) {
			return nil
		}
		return err
	})
}

// Recount looks at the votes on one message, of which the platform does not say which changed.
func (f *Front) Recount(ctx context.Context, is func(chat.MessageRef) bool) error {
	for p, err := range f.o.Inbox.Pending(ctx, f.o.Platform) {
		if err != nil {
			return fmt.Errorf("list approvals: %w", err)
		}
		if is(p.Ref) {
			return f.votes.Look(ctx, p)
		}
	}
	return nil
}

// putFound puts a reaction that was found by a look that began then.
func (f *Front) putFound(ctx context.Context, r chat.Reaction, began time.Time) error {
	id := fmt.Sprintf("%s:found:%s:%s:%s:%s:%t:%d", f.o.Platform, r.On.Channel, r.On.ID, r.By.ID, r.Emoji, r.Removed, began.UnixMicro())
	if _, err := f.o.Inbox.Reaction(ctx, r, id); err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	return nil
}

// Reacted takes in a reaction that the platform told of. The judge looks up who votes. One
// that comes late may have been taken off since, of which another process
// heard: it decides only if it still stands. Nobody knows what its card showed when it was put.
func (f *Front) Reacted(ctx context.Context, r chat.Reaction, late bool, eventIDs ...string) error {
	if late && !r.Removed && Decides(r.Emoji) {
		if stands, err := f.stands(ctx, r); err != nil || !stands {
			return err
		}
	}
	f.votes.Heard(r)
	r.Found = late
	return f.Put(f.o.Inbox.Reaction(ctx, r, eventIDs...))
}

// Put judges what came of putting an event: a repeat is counted.
func (f *Front) Put(fresh bool, err error) error {
	if err != nil {
		return fmt.Errorf("put an event: %w", err)
	}
	f.o.Observe.Put(fresh)
	return nil
}

// Means says whether a reaction with an emoji can mean something.
func (f *Front) Means(emoji string) bool {
	return f.o.Emoji == nil || f.o.Emoji[chat.NormalEmoji(emoji)]
}

// Decides says whether a reaction with an emoji may be a vote, as far as that is the same
// for all approvals. The others are words.
func Decides(emoji string) bool {
	return emoji != chat.EmojiStop && emoji != chat.EmojiRetry && emoji != chat.EmojiMute
}

// stands says whether a reaction is on its message now. Where the message is gone it is not.
func (f *Front) stands(ctx context.Context, r chat.Reaction) (bool, error) {
	on, err := f.Reactions(ctx, chat.Pending{Ref: r.On, Approve: []string{r.Emoji}}, false)
	if err != nil && !errors.Is(err, chat.ErrGone) {
		return false, fmt.Errorf("look whether a reaction stands: %w", err)
	}
	return slices.ContainsFunc(on, func(o chat.Reaction) bool { return o.By.ID == r.By.ID && o.Emoji == r.Emoji }), nil
}
