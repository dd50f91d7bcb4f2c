package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// mostTries is how often a post is tried whose outcome is unknown.
const mostTries = 3

// partsOf writes a post as messages.
func partsOf(thread chat.ThreadID, p chat.Post, c card) []part {
	switch {
	case p.Steps != nil:
		return []part{stepsPart(thread, p.Steps)}
	case p.Approval != nil:
		c.thread, c.mention = homeOf(thread, p.Approval), !p.Approval.Quiet
		return []part{approvalPart(p.Approval, c)}
	case p.Text != nil && p.Text.Summons != nil && p.Text.Summons.Card.IsZero():
		return askingParts(p.Text, c)
	case p.Text != nil && p.Text.Summons != nil:
		return []part{summonsPart(thread, p.Text, c)}
	case p.Text != nil:
		if p.Text.Earlier == nil {
			return answerParts(p.Text, c)
		}
		to := ""
		if e := p.Text.Earlier; c.workspace != "" && !e.Ref.IsZero() {
			to = permalink(c.workspace, thread, e.Ref)
		}
		linked := answerParts(p.Text.Linked(func(chat.MessageRef) string { return to }), c)
		return folding(linked, answerParts(p.Text, c), p.Text, to)
	}
	return nil
}

// card is how posts are drawn.
func (a *Adapter) card() card {
	return card{buttons: !a.o.NoButtons, again: a.o.Retries, workspace: a.who().URL}
}

// Post makes a post, of several messages if it is long, and returns the
// reference of the first; the zero reference for a file whose message Slack does
// not show. With look, those that stand already are not made again. It returns
// chat.ErrGone when the thread can't be written to.
func (a *Adapter) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if isDM(channelOf(thread.Channel)) {
		p = p.Confided()
	}
	parts := partsOf(thread, p, a.card())
	if len(parts) == 0 && p.File == nil {
		return chat.MessageRef{}, errors.New("post nothing")
	}
	if err := a.signedIn(ctx); err != nil {
		return chat.MessageRef{}, err
	}
	s := &sending{a: a, thread: thread, post: p, priority: outbox.UrgencyOf(p)}
	posted := a.votes.Posting(look)
	if look {
		if err := s.look(ctx); err != nil {
			return chat.MessageRef{}, gone(err)
		}
	}
	first, err := s.sendAll(ctx, parts)
	if err != nil {
		return chat.MessageRef{}, gone(err)
	}
	if first == "" {
		return chat.MessageRef{}, nil
	}
	ref := inThread(thread, first)
	if p.Steps != nil {
		a.drawn.Newer(ref, p.Steps.Version)
	}
	if t := p.Text; t != nil && !t.Notice && t.Summons == nil {
		a.working.answered(thread)
	}
	if p.Approval == nil || p.Approval.Outcome != "" {
		return ref, nil
	}
	a.asks(thread, ref, true)
	a.cards.Drew(homeOf(thread, p.Approval), p.Approval)
	if err := posted(ctx, thread, ref, p.Approval); err != nil {
		return chat.MessageRef{}, err
	}
	return ref, a.ballot(ctx, ref, p.Approval)
}

// sendAll makes the messages of a post and returns the timestamp of the first;
// "" for a file whose message could not be found.
func (s *sending) sendAll(ctx context.Context, parts []part) (first string, err error) {
	if s.post.File != nil {
		return s.sendFile(ctx)
	}
	send := s.send
	if s.post.Text != nil {
		send = s.sendOr
		if parts, err = s.shareAnswer(ctx, parts); err != nil {
			return "", err
		}
	}
	if p := s.post.Approval; p != nil && !whole(p.Args) {
		if err := s.showArgs(ctx, p); err != nil {
			return "", fmt.Errorf("show the arguments: %w", err)
		}
	}
	for i, forms := range parts {
		ts, err := send(ctx, i, s.a.shapes.taken(forms).on(first))
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = ts
		} else if s.post.Text != nil {
			s.a.parts.Put(inThread(s.thread, ts), first)
		}
	}
	return first, nil
}

// showArgs shows arguments that don't fit into the approval message: in a file,
// and where a workspace takes none, in messages of their own.
func (s *sending) showArgs(ctx context.Context, p *chat.Approval) error {
	name := argsFile(p.Call)
	err := s.share(ctx, upload{mark: name, name: name, title: name, data: []byte(chat.Exact(p.Args))})
	if !refusedForm(err) {
		return err
	}
	s.a.log.Warn("slack refused a file of arguments, messages follow", "thread", s.thread.String(), "error", err)
	parts := argsParts(p.Args)
	if len(parts) > mostArgParts {
		return err // nothing may run that nobody was shown
	}
	for i, forms := range parts {
		if _, err := s.send(ctx, argsFrom+i, forms); err != nil {
			return err
		}
	}
	return nil
}

// ballot puts the emoji on an approval by which people decide. They are a
// convenience: where Slack refuses one, people can still pick it themselves.
func (a *Adapter) ballot(ctx context.Context, ref chat.MessageRef, p *chat.Approval) error {
	for _, emoji := range p.Ballot() {
		if err := a.react(ctx, ref, emoji, outbox.Approval); err != nil {
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
	parts := partsOf(thread, p, a.card())
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	if p.Approval != nil {
		a.asks(thread, ref, p.Approval.Outcome == "")
		if p.Approval.Outcome != "" {
			a.votes.Over(ref)
		}
		a.whyDenied(homeOf(thread, p.Approval), ref, p.Approval)
		a.cards.Drew(homeOf(thread, p.Approval), p.Approval)
	}
	forms := a.shapes.taken(parts[0])
	if p.Steps != nil && !p.Steps.Done {
		return a.float(ctx, ref, p, forms)
	}
	var err error
	for tries := 0; tries < mostTries; {
		var r request
		if r, err = a.update(ref, p, forms[0]); err != nil {
			return err
		}
		err = a.web.call(ctx, r)
		switch {
		case err == nil:
			return nil
		case refusedForm(err) && len(forms.plainer()) > 0:
			a.shapes.refused(forms[0], err)
			forms = forms.plainer()
		case !outbox.IsLost(err):
			return gone(err)
		default:
			tries++
			if err := retry.Sleep(ctx, a.o.Settle); err != nil {
				return err
			}
		}
	}
	return err
}

// float makes an edit that nobody waits for. A form that Slack refuses is
// followed by a plainer one, so that a turn that takes long never stands still.
func (a *Adapter) float(ctx context.Context, ref chat.MessageRef, p chat.Post, forms part) error {
	r, err := a.update(ref, p, forms[0])
	if err != nil {
		return err
	}
	r.float = true
	r.then = func(err error) {
		if !refusedForm(err) || len(forms.plainer()) == 0 {
			return
		}
		a.shapes.refused(forms[0], err)
		if err := a.float(ctx, ref, p, forms.plainer()); err != nil {
			a.log.Warn("draw steps", "error", err)
		}
	}
	return a.web.call(context.WithoutCancel(ctx), r)
}

// update is the call that makes a message show a form of p.
func (a *Adapter) update(ref chat.MessageRef, p chat.Post, f form) (request, error) {
	if f.edit != "" {
		f.text = f.edit
	}
	f.text = squeeze(f.text, mostEdit)
	args, err := f.message(channelOf(ref.Channel))
	if err != nil {
		return request{}, err
	}
	args.Del("mrkdwn") // chat.update does not take it
	args.Set("ts", ref.ID)
	args.Set("parse", "none")
	version := uint64(0)
	if p.Steps != nil {
		version = p.Steps.Version
	}
	args.Set("metadata", marked(p.Key, 0, version))
	if f.blocks == nil {
		args.Set("blocks", "[]") // else the old ones stay
	}
	r := request{method: "chat.update", args: args, priority: outbox.PriorityOf(p), key: "edit " + ref.String()}
	if p.Steps != nil {
		r.skip = func() bool { return !a.drawn.Newer(ref, version) }
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
		case !outbox.IsLost(err) || try == mostTries:
			return err
		}
		if err := retry.Sleep(ctx, a.o.Settle); err != nil {
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
