package run

import (
	"context"

	"nod/agent"
	"nod/chat"
)

// textUnlisted tells a person that the list could not be made.
const textUnlisted = "I can't look that up right now. Try again in a moment."

// list posts the waiting approvals of a person.
func (d *driver) list(key string, act agent.List) {
	d.begin(key, posts, func(ctx context.Context) outcome {
		text := d.listed(ctx, act)
		act.Post.Post.Text = &text
		return d.makePost(ctx, act.Post)
	})
}

func (d *driver) listed(ctx context.Context, act agent.List) chat.Text {
	text := chat.Text{Markdown: textUnlisted, Notice: true}
	if d.Lobby == nil {
		return text
	}
	err := d.safely(d.thread, "list what waits", func() error {
		visit := d.visit(ctx, act.Who)
		home, err := d.Lobby.Waiting(ctx, d.thread.Platform, visit)
		if err == nil {
			text = act.Listed(d.thread, home, visit.Link)
		}
		return err
	})
	if err != nil {
		d.Log.Warn("list what waits", "thread", d.thread.String(), "error", err)
	}
	return text
}

// visit is a person's view; in doubt it is this thread.
func (d *driver) visit(ctx context.Context, who chat.User) chat.Visit {
	if d.platform.Able().Sees {
		v, err := d.platform.Visit(ctx, d.thread, who)
		if err == nil {
			return v
		}
		d.Log.Warn("find out what somebody sees", "thread", d.thread.String(), "error", err)
	}
	return chat.Visit{
		Who: who, Sees: func(t chat.ThreadID) bool { return t == d.thread },
		Member: func(ctx context.Context, t chat.ThreadID, rule string) (bool, error) {
			in, err := d.platform.Members(ctx, t, rule, []chat.UserID{who.ID})
			return len(in) > 0, err
		},
	}
}
