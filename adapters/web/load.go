package web

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"nod/chat"
	"nod/front"
)

// load puts on the board what the store knows of the conversations.
func (a *Adapter) load(ctx context.Context) error {
	var all []chat.Watermark
	for w, err := range a.o.Inbox.Watermarks(ctx, Platform, time.Unix(0, 0), 0) {
		if err != nil {
			return fmt.Errorf("read the conversations of the page: %w", err)
		}
		all = append(all, w)
	}
	var lines []spoken
	for _, w := range all {
		past, err := a.o.Inbox.History(ctx, w.Thread)
		if err != nil {
			// One that can't be read is missing, and no reason to show nothing.
			a.log.Error("read a conversation", "thread", w.Thread.String(), "error", err)
			continue
		}
		for _, l := range past {
			at := w.Thread
			if l.Elsewhere != (chat.ThreadID{}) {
				at, l.Post.Approval.Home = l.Elsewhere, w.Thread
			}
			lines = append(lines, spoken{at, l})
		}
	}
	slices.SortStableFunc(lines, func(a, b spoken) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	for _, l := range lines {
		a.restore(ctx, l)
	}
	a.votes(ctx)
	a.reflect(ctx)
	return nil
}

// votes shows the approvals that count so far on calls that wait: whoever gave one sees
// that it stands, and can take it back.
func (a *Adapter) votes(ctx context.Context) {
	for p, err := range a.o.Inbox.Pending(ctx, Platform) {
		if err != nil {
			a.log.Error("read the votes on approvals", "error", err)
			return
		}
		for _, r := range p.Approved {
			a.board.change(p.Ref, func(it *item) bool { return it.react(chat.NormalEmoji(r.Emoji), r.By.ID, false) })
		}
	}
}

// spoken is a line of a conversation, and which that is.
type spoken struct {
	thread chat.ThreadID
	chat.Line
}

// restore puts a line on the board, or brings it up to date there. A post
// without a reference stands nowhere yet, and is about to be posted.
func (a *Adapter) restore(ctx context.Context, l spoken) {
	if l.Ref.IsZero() || l.Message == nil && l.Post == nil {
		return
	}
	if l.thread.Platform == Platform {
		l.Post = front.Present(ctx, a.o.Inbox, l.thread, l.Post)
	}
	it := item{ref: l.Ref, thread: l.thread, at: l.At, place: a.board.before(), message: l.Message, post: l.Post}
	if it.waiting() {
		for _, emoji := range it.post.Approval.Ballot() {
			it.react(chat.NormalEmoji(emoji), bot, false)
		}
	}
	if a.board.put(it) {
		return
	}
	a.board.change(l.Ref, func(old *item) bool {
		if old.place > mostPast { // this process has drawn it meanwhile, which is newer
			old.at, old.place = l.At, it.place
			return true
		}
		if reflect.DeepEqual(old.post, l.Post) && reflect.DeepEqual(old.message, l.Message) {
			return false
		}
		old.post, old.message = l.Post, l.Message
		return true
	})
}

// Changed says that something happened in a conversation that is held elsewhere.
// It does not block.
func (a *Adapter) Changed(thread chat.ThreadID) {
	if thread != a.o.Terminal || a.o.Terminal == (chat.ThreadID{}) {
		return
	}
	select {
	case a.mirror <- struct{}{}:
	default: // it is about to be looked at
	}
}

// follow keeps the conversation of the terminal up to date until ctx is done.
func (a *Adapter) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.mirror:
			a.reflect(ctx)
		}
	}
}

// reflect shows the conversation of the terminal as it is.
func (a *Adapter) reflect(ctx context.Context) {
	if a.o.Terminal == (chat.ThreadID{}) {
		return
	}
	past, err := a.o.Inbox.History(ctx, a.o.Terminal)
	if err != nil {
		a.log.Error("read the conversation of the terminal", "error", err)
		return
	}
	for _, l := range past {
		a.restore(ctx, spoken{a.o.Terminal, l})
	}
}
