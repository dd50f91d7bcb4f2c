package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"nod/chat"
	"nod/chat/outbox"
)

// mostTries is how often a post is tried whose outcome is unknown.
const mostTries = 3

// drawn knows the newest version of the steps that was drawn under each
// reference, for as many messages as are likely to be at work.
type drawn struct {
	mu   *sync.Mutex
	seen map[chat.MessageRef]uint64
}

func newDrawn() drawn { return drawn{mu: &sync.Mutex{}, seen: map[chat.MessageRef]uint64{}} }

// newer notes a version, unless a newer one was noted.
func (d *drawn) newer(ref chat.MessageRef, version uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if version < d.seen[ref] {
		return false
	}
	if len(d.seen) > 10_000 {
		clear(d.seen)
	}
	d.seen[ref] = version
	return true
}

// partsOf writes a post as messages.
func partsOf(thread chat.ThreadID, p chat.Post) []part {
	switch {
	case p.Steps != nil:
		return []part{stepsPart(thread, p.Steps)}
	case p.Approval != nil:
		return []part{approvalPart(p.Approval)}
	case p.Text != nil:
		return answerParts(p.Text)
	}
	return nil
}

// priorityOf says how important a post is.
func priorityOf(p chat.Post) outbox.Priority {
	switch {
	case p.Approval != nil:
		return outbox.Approval
	case p.Steps != nil:
		return outbox.Steps
	}
	return outbox.Answer
}

// Post makes a post, of several messages if it is long, and returns the
// reference of the first. With look, those that stand already are not made
// again. It returns chat.ErrGone when the thread can't be written to.
func (a *Adapter) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	parts := partsOf(thread, p)
	if len(parts) == 0 {
		return chat.MessageRef{}, errors.New("post nothing")
	}
	if err := a.signedIn(ctx); err != nil {
		return chat.MessageRef{}, err
	}
	s := &sending{a: a, thread: thread, post: p, priority: priorityOf(p)}
	if look {
		if err := s.look(ctx); err != nil {
			return chat.MessageRef{}, gone(err)
		}
	}
	if p.Approval != nil && !whole(p.Approval.Args) {
		if err := s.file(ctx, argsFile(p.Approval.Call), p.Approval.Args); err != nil {
			return chat.MessageRef{}, fmt.Errorf("show the arguments: %w", gone(err))
		}
	}
	var first string
	for i, forms := range parts {
		ts, err := s.send(ctx, i, forms)
		if err != nil {
			return chat.MessageRef{}, gone(err)
		}
		if i == 0 {
			first = ts
		}
	}
	a.working.shown(thread)
	ref := inThread(thread, first)
	if p.Steps != nil {
		a.drawn.newer(ref, p.Steps.Version)
	}
	if p.Approval == nil || p.Approval.Outcome != "" {
		return ref, nil
	}
	if look {
		if err := a.voted(ctx, thread, ref, p.Approval); err != nil {
			return chat.MessageRef{}, err
		}
	}
	return ref, a.ballot(ctx, ref, p.Approval)
}

// voted takes in the reactions on an approval that may have stood before its
// reference was noted: nobody listened to them then, and it was not among those
// that were looked at after the connection.
func (a *Adapter) voted(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p *chat.Approval) error {
	return a.look(ctx, chat.Pending{Thread: thread, Call: p.Call, Ref: ref, Approve: p.Approve, Deny: p.Deny})
}

// ballot puts the emoji on an approval by which people decide. They are a
// convenience: where Slack refuses one, people can still pick it themselves.
func (a *Adapter) ballot(ctx context.Context, ref chat.MessageRef, p *chat.Approval) error {
	for _, list := range [][]string{p.Approve, p.Deny} {
		if len(list) == 0 {
			continue
		}
		if err := a.react(ctx, ref, list[0], outbox.Approval); err != nil {
			if code(err) == "" {
				return err
			}
			a.log.Warn("put an emoji on an approval", "error", err)
		}
	}
	return nil
}

// Edit makes a message show p as it is now. Edits of steps at work are left out
// for newer ones and for whatever is more important; an older version never
// replaces a newer one.
func (a *Adapter) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	parts := partsOf(thread, p)
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	key := "edit " + ref.String()
	if p.Steps != nil && !p.Steps.Done {
		r, err := a.update(ref, p, parts[0][0])
		if err != nil {
			return err
		}
		r.key, r.float = key, true
		return a.web.call(ctx, r)
	}
	var err error
	for tries, forms := 0, parts[0]; tries < mostTries; {
		var r request
		if r, err = a.update(ref, p, forms[0]); err != nil {
			return err
		}
		r.key = key
		err = a.web.call(ctx, r)
		switch {
		case err == nil:
			return nil
		case refusedForm(err) && len(forms) > 1:
			forms = forms[1:]
		case !lost(err):
			return gone(err)
		default:
			tries++
			if err := sleep(ctx, a.o.Settle); err != nil {
				return err
			}
		}
	}
	return err
}

// update is the call that makes a message show a form of p.
func (a *Adapter) update(ref chat.MessageRef, p chat.Post, f form) (request, error) {
	f.text = squeeze(f.text, mostFallback)
	args, err := f.message(channelOf(ref.Channel))
	if err != nil {
		return request{}, err
	}
	args.Set("ts", ref.ID)
	version := uint64(0)
	if p.Steps != nil {
		version = p.Steps.Version
	}
	args.Set("metadata", marked(p.Key, 0, version))
	if f.blocks == nil {
		args.Set("blocks", "[]") // else the old ones stay
	}
	r := request{method: "chat.update", args: args, priority: priorityOf(p)}
	if p.Steps != nil {
		r.skip = func() bool { return !a.drawn.newer(ref, version) }
	}
	return r, nil
}

// React puts the bot's emoji on a message. That it is there already is fine.
func (a *Adapter) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	return a.react(ctx, ref, emoji, outbox.Low)
}

func (a *Adapter) react(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	args := url.Values{"channel": {channelOf(ref.Channel)}, "timestamp": {ref.ID}, "name": {chat.SlackName(chat.NormalEmoji(emoji))}}
	for try := 1; ; try++ {
		err := a.web.call(ctx, request{method: "reactions.add", args: args, priority: p})
		switch {
		case code(err) == "already_reacted":
			return nil
		case !lost(err) || try == mostTries:
			return err
		}
		if err := sleep(ctx, a.o.Settle); err != nil {
			return err
		}
	}
}

// Whisper tells one person something that nobody else sees.
func (a *Adapter) Whisper(ctx context.Context, thread chat.ThreadID, to chat.User, _ chat.MessageRef, text string) error {
	args := url.Values{"channel": {channelOf(thread.Channel)}, "user": {string(to.ID)}, "text": {shorten(escape(text), mostFallback)}}
	if thread.Root != "" {
		args.Set("thread_ts", thread.Root)
	}
	return a.web.call(ctx, request{method: "chat.postEphemeral", args: args, priority: outbox.Answer})
}
