package discord

import (
	"context"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat"
)

// Visit is what somebody sees who writes in a thread.
func (a *Adapter) Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error) {
	s := a.people.Sight(string(who.ID), api.PlaceOf(thread))
	return chat.Visit{
		Who:  who,
		Sees: func(t chat.ThreadID) bool { return s.Of(ctx, api.PlaceOf(t)) },
		Member: func(ctx context.Context, t chat.ThreadID, rule string) (bool, error) {
			in, err := a.Members(ctx, t, rule, []chat.UserID{who.ID})
			return len(in) > 0, err
		},
		Link: func(t chat.ThreadID, ref chat.MessageRef) string { return a.Link(ctx, t, ref) },
	}, nil
}

// Link is the address of a message; "" where that can't be told.
func (a *Adapter) Link(ctx context.Context, t chat.ThreadID, ref chat.MessageRef) string {
	p := api.PlaceOf(t)
	switch {
	case ref.ID == "":
		return ""
	case p.Direct():
		return webLink("@me", p.Channel, ref.ID)
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return ""
	}
	in := p.Channel
	if a.atlas.IsThread(p.Thread) {
		in = p.Thread
	}
	return webLink(c.GuildID, in, ref.ID)
}

// Named is how a person or role is called, by a rule such as user:123. A person is
// looked up while ctx lasts.
func (a *Adapter) Named(ctx context.Context, rule string) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "role":
		return a.atlas.RoleName(a.atlas.GuildOfRole(id), id)
	case kind != "user" || ctx.Err() != nil:
		return ""
	}
	u, err := a.user(ctx, id)
	if err != nil {
		return ""
	}
	return u.Name
}

// PlaceName is how a thread's channel is called. A channel is looked up while ctx lasts.
func (a *Adapter) PlaceName(ctx context.Context, t chat.ThreadID) string {
	p := api.PlaceOf(t)
	if p.Direct() {
		return "a direct conversation"
	}
	c, _ := a.atlas.Known(p.Channel)
	if c.Name == "" && ctx.Err() == nil {
		c, _ = a.atlas.AskChannel(ctx, p.Channel)
	}
	if c.Name == "" {
		return ""
	}
	return "#" + c.Name
}

func webLink(guild, channel, id string) string {
	return "https://discord.com/channels/" + guild + "/" + channel + "/" + id
}
