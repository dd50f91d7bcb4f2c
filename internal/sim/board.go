package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
)

// board is the platform: what stands in its channels.
type board struct {
	w     *world
	cards []*card
	byRef map[chat.MessageRef]*card
}

// card is a message of the bot's.
type card struct {
	ref          chat.MessageRef
	thread       chat.ThreadID
	key          string
	first, shown chat.Post
	at           time.Time
	by           string // process
	looked       bool   // for an earlier one with this key
	n            int
}

func newBoard(w *world) *board { return &board{w: w, byRef: map[chat.MessageRef]*card{}} }

func (b *board) find(thread chat.ThreadID, key string) *card {
	for i := len(b.cards) - 1; i >= 0; i-- {
		if c := b.cards[i]; c.key == key && c.thread == thread {
			return c
		}
	}
	return nil
}

// post puts a message up.
func (b *board) post(by string, thread chat.ThreadID, p chat.Post, looked bool) chat.MessageRef {
	old := b.find(thread, p.Key)
	if old != nil && b.w.nonce {
		b.w.check.again(old, p)
		return old.ref
	}
	c := &card{thread: thread, key: p.Key, first: p, shown: p, at: b.w.now(), by: by, looked: looked, n: len(b.cards) + 1}
	c.ref = chat.MessageRef{Platform: platform, Channel: thread.Channel, ID: fmt.Sprintf("p%d", c.n)}
	b.cards, b.byRef[c.ref] = append(b.cards, c), c
	b.w.logf("post %s %s by %s: %s", c.ref.ID, p.Key, by, summary(p))
	b.w.check.posted(c, old)
	if p.Approval != nil && p.Approval.Outcome == "" {
		b.w.stands(c)
	}
	return c.ref
}

func (b *board) edit(ref chat.MessageRef, p chat.Post) {
	c := b.byRef[ref]
	if c == nil {
		return
	}
	if p.Steps != nil && c.shown.Steps != nil && p.Steps.Version < c.shown.Steps.Version {
		return // an older one never replaces a newer one
	}
	c.shown = p
	b.w.logf("edit %s %s: %s", c.ref.ID, c.key, summary(p))
}

// summary is a post in a few words.
func summary(p chat.Post) string {
	switch {
	case p.Text != nil && p.Text.Notice:
		return "notice " + p.Text.Markdown
	case p.Text != nil:
		return "answer " + p.Text.Markdown
	case p.Steps != nil && p.Steps.Done:
		return "steps done: " + p.Steps.Status
	case p.Steps != nil:
		return "steps: " + p.Steps.Status
	case p.Approval != nil:
		return fmt.Sprintf("ask %s %s %s %s", p.Approval.Tool, p.Approval.Args, p.Approval.Outcome, p.Approval.Headline)
	}
	return "file"
}

// desk is an adapter: what one process shows on the platform.
type desk struct {
	chat.Unable
	n     *node
	edits map[chat.MessageRef]int // of a message so far: an older one yields to a newer one
}

var errMumble = errors.New("the platform does not answer")

// unspeakable is a word that the platform takes in no form.
const unspeakable = "unspeakable"

// reach has the platform do something.
func (d *desk) reach(ctx context.Context, do func() error) error {
	w := d.n.w
	return d.n.request(ctx, func() error {
		if w.silent || w.chance(w.mumble/2) {
			return errMumble
		}
		err := do()
		if w.chance(w.mumble / 2) {
			return errMumble
		}
		return err
	})
}

// Post implements run.Drawer. A post waits in the outbox of the process until it
// is its turn; only then is it known whether it has to be looked for.
func (d *desk) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (ref chat.MessageRef, err error) {
	w := d.n.w
	begun := w.since
	if w.slow > 0 {
		if err := d.n.p.sleep(ctx, w.between(0, w.slow)); err != nil {
			return ref, err
		}
	}
	looks := look || w.since-begun > 5*time.Second
	if looks && !w.nonce {
		err := d.reach(ctx, func() error {
			if c := w.board.find(thread, p.Key); c != nil {
				ref = c.ref
			}
			return nil
		})
		if err != nil || !ref.IsZero() {
			return ref, err
		}
	}
	err = d.reach(ctx, func() error {
		if chat.Doubtful(ctx) { // as an outbox does right before it sends
			return chat.ErrDoubt
		}
		if strings.Contains(summary(p), unspeakable) && (p.Text == nil || !p.Text.Notice) && p.Steps == nil {
			w.check.refused(thread, p)
			return chat.Refused{Platform: "Sim", Code: "msg_too_rude"}
		}
		ref = w.board.post(d.n.p.name, thread, p, looks)
		return nil
	})
	return ref, err
}

// Edit implements run.Drawer.
func (d *desk) Edit(ctx context.Context, _ chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	d.edits[ref]++
	n := d.edits[ref]
	edit := func() error {
		if chat.Doubtful(ctx) {
			return chat.ErrDoubt
		}
		if n == d.edits[ref] {
			d.n.w.board.edit(ref, p)
		}
		return nil
	}
	if p.Steps != nil && !p.Steps.Done {
		d.n.p.Go(func() { _ = d.reach(background, edit) })
		return nil
	}
	return d.reach(ctx, edit)
}

// React implements run.Drawer.
func (d *desk) React(ctx context.Context, _ chat.MessageRef, _ string) error {
	return d.reach(ctx, func() error { return nil })
}

// Whisper implements run.Drawer.
func (d *desk) Whisper(ctx context.Context, _ chat.ThreadID, _ chat.User, _ chat.MessageRef, _ string) error {
	return d.reach(ctx, func() error { return nil })
}

// Working implements run.Drawer.
func (d *desk) Working(chat.ThreadID, chat.Work) {}

// Members implements run.Members.
func (d *desk) Members(ctx context.Context, _ chat.ThreadID, rule string, who []chat.UserID) (in []chat.UserID, err error) {
	err = d.reach(ctx, func() error {
		in = slices.DeleteFunc(slices.Clone(who), func(u chat.UserID) bool { return !inGroup(u, rule) })
		return nil
	})
	return in, d.doubts(who, err)
}

// Who implements run.Members.
func (d *desk) Who(ctx context.Context, _ string, u chat.User) (chat.User, error) {
	err := d.reach(ctx, func() error { return nil })
	return u, d.doubts([]chat.UserID{u.ID}, err)
}

// doubts notes people who could not be looked up.
func (d *desk) doubts(who []chat.UserID, err error) error {
	for _, u := range who {
		if err != nil {
			d.n.w.check.doubted[u] = true
		}
	}
	return err
}

// Possible implements run.Members.
func (d *desk) Possible(context.Context, chat.ThreadID, string) bool { return true }

// inGroup says who is in the only group that there is.
func inGroup(who chat.UserID, rule string) bool {
	return rule == "group:ops" && (who == "Uben" || who == "Ucid")
}
