package front

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// MostTries is how often a call is made whose outcome is unknown.
const MostTries = 3

// Repeat repeats what may be done twice while its outcome is unknown.
func (f *Front) Repeat(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !outbox.IsLost(err) || try == MostTries || retry.Sleep(ctx, f.o.Settle) != nil {
			return err
		}
	}
}

// Attempt is one message of a post on its way.
type Attempt struct {
	Stands func() string // the id of the message, once it is found
	Make   func(ctx context.Context) (id string, err error)
	// Rewrite writes the message another way, after a refusal or after so many calls whose
	// outcome is unknown; again is false where there is no other way. failed ends the post.
	// It may be nil.
	Rewrite func(ctx context.Context, err error, lost int) (again bool, failed error)
	Look    func(ctx context.Context) error // finds what stands already
	Unsure  func(err error) bool            // besides an [outbox.Lost]; nil: nothing is
}

// Deliver makes one message, in the first way that the platform takes. After a failure that
// may have had an effect it looks for the message first.
func (f *Front) Deliver(ctx context.Context, thread chat.ThreadID, a Attempt) (string, error) {
	for lost := 0; ; {
		if id := a.Stands(); id != "" {
			return id, nil
		}
		id, err := a.Make(ctx)
		if err == nil {
			return id, nil
		}
		unsure := outbox.IsLost(err) || a.Unsure != nil && a.Unsure(err)
		if unsure {
			lost++
		}
		var again bool
		var failed error
		if a.Rewrite != nil {
			again, failed = a.Rewrite(ctx, err, lost)
		}
		switch {
		case failed != nil:
			return "", failed
		case again && lost < MostTries:
			continue
		case !again && (!unsure || lost >= MostTries), ctx.Err() != nil:
			return "", err
		}
		f.o.Logger.Warn("the outcome of a post is unknown, looking for it", "thread", thread.String(), "error", err)
		if err := retry.Sleep(ctx, f.o.Settle); err != nil {
			return "", err
		}
		if err := a.Look(ctx); err != nil {
			return "", err
		}
	}
}

// Post makes a post, of several messages if it is long, and returns the reference of the
// first. With look, those that stand already are not made again.
func (f *Front) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if f.Direct(thread) {
		p = p.Confided()
	}
	posted := f.votes.Posting(look)
	ref, err := f.Send(ctx, thread, f.message(ctx, thread, p), look)
	if err != nil || ref.IsZero() {
		return chat.MessageRef{}, err
	}
	if p.Steps != nil {
		f.drawn.Newer(ref, p.Steps.Version)
	}
	if p.Approval == nil || p.Approval.Outcome != "" {
		return ref, nil
	}
	f.shown.Put(ref, *p.Approval)
	if err := posted(ctx, thread, ref, p.Approval); err != nil {
		return chat.MessageRef{}, err
	}
	return ref, f.putBallot(ctx, ref, p.Approval)
}

// putBallot puts the emoji on a card by which people decide. They are a convenience:
// where the platform refuses one, people can still pick it themselves.
func (f *Front) putBallot(ctx context.Context, ref chat.MessageRef, p *chat.Approval) error {
	for _, emoji := range p.Ballot() {
		err := f.putEmoji(ctx, ref, emoji, outbox.Approval)
		if err != nil && !final(err) {
			return err
		}
		if err != nil {
			f.o.Logger.Warn("put an emoji on an approval", "error", err)
		}
	}
	return nil
}

func (f *Front) putEmoji(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	return f.Repeat(ctx, func() error { return f.Mark(ctx, ref, chat.NormalEmoji(emoji), p) })
}

// Edit makes a message show p as it is now. An older version of steps never replaces a
// newer one.
func (f *Front) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	m := f.message(ctx, thread, p)
	if a := p.Approval; a != nil {
		if a.Outcome != "" {
			f.votes.Over(ref)
		}
		if was, ok := f.shown.Get(ref); ok {
			m.Was = &was
		}
		f.shown.Put(ref, *a)
		f.askWhy(home(thread, a), ref, a)
	}
	if p.Steps != nil {
		m.Skip = func() bool { return !f.drawn.Newer(ref, p.Steps.Version) }
	}
	if m.Floats() {
		return f.Change(ctx, thread, ref, m)
	}
	return f.Repeat(ctx, func() error { return f.Change(ctx, thread, ref, m) })
}

// React puts the bot's emoji on a message.
func (f *Front) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	return f.putEmoji(ctx, ref, emoji, outbox.Low)
}

// Copy shows a card outside of its thread. What a person's direct conversation was refused
// for is said where people decide.
func (f *Front) Copy(ctx context.Context, place string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	at, err := f.Place(ctx, place)
	var ref chat.MessageRef
	if err == nil {
		ref, err = f.Post(ctx, at, p, look)
	}
	var gone Gone
	if strings.HasPrefix(place, "user:") && errors.As(err, &gone) {
		err = gone.Said
	}
	return at, ref, err
}

// message is a post of a thread as the wire gets it.
func (f *Front) message(ctx context.Context, thread chat.ThreadID, p chat.Post) Message {
	m := f.o.Message(p)
	if p.Text != nil && p.Text.Earlier != nil && !p.Text.Earlier.Ref.IsZero() {
		m.Earlier = f.Link(ctx, thread, p.Text.Earlier.Ref)
	}
	if a := p.Approval; a != nil && a.Elsewhere && m.Card != nil && !a.Card.IsZero() {
		if to := f.Link(ctx, home(thread, a), a.Card); to != "" {
			m.Card.Terms = append(m.Card.Terms, f.o.Dialect.Link("Open the thread", to))
		}
	}
	return m
}

// home is the thread that an approval is of, wherever its card stands.
func home(thread chat.ThreadID, p *chat.Approval) chat.ThreadID { return cmp.Or(p.Home, thread) }

// final says whether the platform refused something for good.
func final(err error) bool {
	var refused chat.Refused
	return errors.Is(err, chat.ErrGone) || errors.As(err, &refused)
}
