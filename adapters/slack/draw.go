package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// partsOf writes a post as messages.
func partsOf(m front.Message, c layout.Card) []layout.Part {
	switch {
	case m.Steps != nil:
		return []layout.Part{layout.StepsPart(c.Thread, m.Steps)}
	case m.Approval != nil:
		c.Thread = cmp.Or(m.Approval.Home, c.Thread)
		return []layout.Part{layout.ApprovalPart(m.Approval, m.Card, c)}
	case m.Text != nil && m.Text.Summons != nil && m.Text.Summons.Card.IsZero():
		return layout.AskingParts(m, c)
	case m.Text != nil && m.Text.Summons != nil:
		return []layout.Part{layout.SummonsPart(m, c)}
	case m.Text != nil && m.Text.Earlier != nil:
		return layout.Folding(layout.AnswerParts(m.Linked(), c), layout.AnswerParts(m.Text, c), m.Text, m.Earlier)
	case m.Text != nil:
		return layout.AnswerParts(m.Text, c)
	}
	return nil
}

// card is how posts of a thread are drawn.
func (a *Adapter) card(thread chat.ThreadID) layout.Card {
	return layout.Card{Thread: thread, Again: a.o.Retries, Workspace: a.who().URL}
}

// Send makes the messages of a post. The reference is zero for a file whose message Slack
// does not show.
func (a *Adapter) Send(ctx context.Context, thread chat.ThreadID, m front.Message, look bool) (chat.MessageRef, error) {
	parts := partsOf(m, a.card(thread))
	if len(parts) == 0 && m.File == nil {
		return chat.MessageRef{}, errors.New("post nothing")
	}
	if err := a.signedIn(ctx); err != nil {
		return chat.MessageRef{}, err
	}
	s := &sending{a: a, thread: thread, post: m.Post, priority: outbox.UrgencyOf(m.Post)}
	if look {
		if err := s.look(ctx); err != nil {
			return chat.MessageRef{}, api.Gone(err)
		}
	}
	posted := a.working.posting(thread)
	first, err := s.sendAll(ctx, parts)
	if err != nil || first == "" {
		return chat.MessageRef{}, api.Gone(err)
	}
	posted()
	return api.InThread(thread, first), nil
}

// sendAll makes the messages of a post and returns the timestamp of the first;
// "" for a file whose message could not be found.
func (s *sending) sendAll(ctx context.Context, parts []layout.Part) (first string, err error) {
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
	if p := s.post.Approval; p != nil && !layout.Whole(p.Args) {
		if err := s.showArgs(ctx, p); err != nil {
			return "", fmt.Errorf("show the arguments: %w", err)
		}
	}
	for i, forms := range parts {
		ts, err := send(ctx, i, s.a.shapes.Taken(forms, s.post.Key).On(first))
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = ts
		} else if s.post.Text != nil {
			s.a.parts.Put(api.InThread(s.thread, ts), first)
		}
	}
	return first, nil
}

// showArgs shows arguments that don't fit into the approval message: in a file,
// and where a workspace takes none, in messages of their own.
func (s *sending) showArgs(ctx context.Context, p *chat.Approval) error {
	name := layout.ArgsFile(p.Call)
	err := s.share(ctx, upload{mark: name, name: name, title: name, data: []byte(chat.Exact(p.Args))})
	if !api.RefusedForm(err) {
		return err
	}
	s.a.log.Warn("slack refused a file of arguments, messages follow", "thread", s.thread.String(), "error", err)
	parts := layout.ArgsParts(p.Args)
	if len(parts) > layout.MostArgParts {
		return err // nothing may run that nobody was shown
	}
	for i, forms := range parts {
		if _, err := s.send(ctx, layout.ArgsFrom+i, forms); err != nil {
			return err
		}
	}
	return nil
}

// Change makes a message show something else, in the first form that Slack takes.
func (a *Adapter) Change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	parts := partsOf(m, a.card(thread))
	if len(parts) == 0 {
		return errors.New("edit: nothing to show")
	}
	return a.change(ctx, thread, ref, m, a.shapes.Taken(parts[0], m.Key))
}

// change makes a message show something in the first of these forms that Slack takes. It
// does not wait for steps at work: a plainer form follows when the first is refused, so that
// a turn that takes long never stands still.
func (a *Adapter) change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message, forms layout.Part) error {
	r, err := a.update(thread, ref, m, forms[0])
	if err != nil {
		return err
	}
	plainer := func(err error) error {
		if err == nil {
			a.shapes.Took(forms[0])
		}
		if !api.RefusedForm(err) || len(forms) == 1 {
			return api.Gone(err)
		}
		a.shapes.Refused(forms[0], m.Key, err)
		return a.change(ctx, thread, ref, m, forms[1:])
	}
	if !m.Floats() {
		return plainer(a.web.Call(ctx, r))
	}
	r.Float = true
	r.Then = func(err error) {
		if err := plainer(err); err != nil {
			a.log.Debug("draw steps", "error", err)
		}
	}
	return a.web.Call(context.WithoutCancel(ctx), r)
}

// update is the call that makes a message show a form of a post.
func (a *Adapter) update(thread chat.ThreadID, ref chat.MessageRef, m front.Message, f layout.Form) (api.Request, error) {
	if f.Edit != "" {
		f.Text = f.Edit
	}
	f.Text = layout.Squeeze(f.Text, layout.MostEdit)
	args, err := f.Message(api.ChannelOf(ref.Channel))
	if err != nil {
		return api.Request{}, err
	}
	args.Del("mrkdwn") // chat.update does not take it
	args.Set("ts", ref.ID)
	args.Set("parse", "none")
	args.Set("metadata", layout.Marked(m.Post, 0, a.Signature(thread, m.Key)))
	if f.Blocks == nil {
		args.Set("blocks", "[]") // else the old ones stay
	}
	return api.Request{Method: "chat.update", Args: args, Priority: outbox.PriorityOf(m.Post), Key: "edit " + ref.String(), Skip: m.Skip}, nil
}

// Mark puts the bot's emoji on a message. That it is there already is fine.
func (a *Adapter) Mark(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	args := url.Values{"channel": {api.ChannelOf(ref.Channel)}, "timestamp": {ref.ID}, "name": {chat.SlackName(emoji)}}
	err := a.web.Call(ctx, api.Request{Method: "reactions.add", Args: args, Priority: p})
	if api.Code(err) == "already_reacted" {
		return nil
	}
	return api.Gone(err)
}

// Whisper tells one person something that nobody else sees.
func (a *Adapter) Whisper(ctx context.Context, thread chat.ThreadID, to chat.User, _ chat.MessageRef, text string) error {
	return a.confide(ctx, thread, to.ID, front.Answer{Alone: text})
}

// Stood is when a message was sent.
func (a *Adapter) Stood(ref chat.MessageRef) time.Time { return api.SentAt(ref.ID) }
