package terminal

import (
	"context"
	"time"

	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// wire is the terminal as the [front.Front] speaks to it.
type wire struct {
	chat.Unable
	a *Adapter
}

// Send shows m. Showing the same post again changes nothing, with look or without: within
// a process the adapter knows what it has shown, and the history tells it what an earlier
// one had. A process that dies before it notes what it wrote to the screen writes it twice;
// nothing can prevent that.
func (w wire) Send(ctx context.Context, thread chat.ThreadID, m front.Message, _ bool) (chat.MessageRef, error) {
	a, ref := w.a, postRef(thread, m.Key)
	var rows []row
	if m.File != nil {
		var err error
		if rows, err = a.keep(ctx, thread, m.Post); err != nil {
			return chat.MessageRef{}, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.wake()
	switch {
	case m.File != nil:
		return ref, a.showFile(ref, rows)
	case m.Text != nil:
		a.growing = nil
		a.gate.answered()
	case m.Approval != nil:
		a.gate.asked()
	}
	return ref, a.show(ref, m.Post)
}

// Change makes a post show m: steps move on, an approval shows its outcome.
func (w wire) Change(_ context.Context, _ chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	defer w.a.wake()
	return w.a.show(ref, m.Post)
}

// Mark shows that the bot put an emoji on a message of the person's. The emoji on an
// approval are in its text already.
func (w wire) Mark(_ context.Context, ref chat.MessageRef, emoji string, _ outbox.Priority) error {
	a := w.a
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.wake()
	seen := emoji == chat.EmojiSeen
	if seen {
		a.gate.seen()
	}
	mark := ref.ID + " " + emoji
	if a.left {
		return errLeft
	}
	if a.marks[mark] || a.shown[ref] != nil {
		return nil
	}
	note := "reacted " + emoji
	if seen {
		note = "seen; it waits for the approval"
	}
	if err := a.print(aside(note)); err != nil {
		return err
	}
	a.marks[mark] = true
	return nil
}

// Whisper tells the person something; there is nobody else to hear it.
func (w wire) Whisper(_ context.Context, _ chat.ThreadID, _ chat.User, _ chat.MessageRef, text string) error {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	defer w.a.wake()
	w.a.gate.vote = false
	return w.a.print(aside(text))
}

// Working shows what the bot does. It is also how the adapter knows when the bot is at
// rest, see gate: at work when the run takes something in, and no longer when it lets the
// thread go, after everything is posted. It waits for a screen that takes no output
// (Ctrl-S), as everything here does; there is no other thread to hold up.
func (w wire) Working(_ chat.ThreadID, doing chat.Work) {
	a := w.a
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.wake()
	on := doing.Busy()
	a.doing = doing
	a.gate.work(on, len(a.asks))
	if a.left {
		return
	}
	if !on {
		_ = a.flush() // it is printed again from the history, or with what is printed next
	}
	_ = a.refresh() // a sign of work that can't be shown is no loss
}

// Able is what the live part of the screen is for.
func (wire) Able() chat.Able { return chat.Able{Grows: true} }

// Grow shows what is being written, in the live part of the screen. Elsewhere
// nothing is shown: what is written there once must be whole.
func (w wire) Grow(_ chat.ThreadID, posts []chat.Post) {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	if w.a.left || w.a.con.editor == nil {
		return
	}
	w.a.growing = posts
	_ = w.a.refresh() // the message itself is tried again
}

// Link gives none.
func (wire) Link(context.Context, chat.ThreadID, chat.MessageRef) string { return "" }

// Reactions lists none: the person's decisions are clicks.
func (wire) Reactions(context.Context, chat.Pending, bool) ([]chat.Reaction, error) { return nil, nil }

// Since has nothing to look for: nobody types while the program is away.
func (wire) Since(context.Context, []chat.Watermark, time.Duration) (bool, error) { return true, nil }

// Direct says that one person writes in a terminal.
func (wire) Direct(chat.ThreadID) bool { return true }

// Partner is that person.
func (wire) Partner(context.Context, chat.ThreadID) chat.UserID { return me }

// Who is the person at the terminal, who may decide.
func (wire) Who(_ context.Context, _ string, u chat.User) (chat.User, error) { return u, nil }

// People says nobody: a terminal has no groups and no roles.
func (wire) People(context.Context, chat.ThreadID, string, int) ([]chat.User, bool, error) {
	return nil, true, nil
}

// Members says nobody, for the same reason.
func (wire) Members(context.Context, chat.ThreadID, string, []chat.UserID) ([]chat.UserID, error) {
	return nil, nil
}

// Possible says no, for the same reason.
func (wire) Possible(context.Context, chat.ThreadID, string) bool { return false }

// Place opens none.
func (wire) Place(context.Context, string) (chat.ThreadID, error) {
	return chat.ThreadID{}, chat.ErrElsewhere
}
