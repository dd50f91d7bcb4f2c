package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/outbox"
)

// This file knows which conversations a person sees, for whoever asks what waits
// for them. In doubt they see none.

// sight is what one person sees. Each guild and each channel is looked up once.
type sight struct {
	a      *Adapter
	who    string
	from   place // where they ask: a direct conversation is seen from within
	guilds map[string]standing
	sees   map[string]bool // by channel or private thread
}

// Visit is what somebody sees who writes in a thread.
func (a *Adapter) Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error) {
	s := &sight{a: a, who: string(who.ID), from: placeOf(thread), guilds: map[string]standing{}, sees: map[string]bool{}}
	return chat.Visit{
		Who:  who,
		Sees: func(t chat.ThreadID) bool { return s.of(ctx, placeOf(t)) },
		Member: func(ctx context.Context, t chat.ThreadID, rule string) (bool, error) {
			return a.Member(ctx, t, who.ID, rule)
		},
		Link: func(t chat.ThreadID, ref chat.MessageRef) string { return a.Link(ctx, t, ref) },
	}, nil
}

// Link is the address of a message; "" where that can't be told.
func (a *Adapter) Link(ctx context.Context, t chat.ThreadID, ref chat.MessageRef) string {
	p := placeOf(t)
	switch {
	case ref.ID == "":
		return ""
	case p.direct():
		return webLink("@me", p.channel, ref.ID)
	}
	c, err := a.channel(ctx, p.channel)
	if err != nil {
		return ""
	}
	in := p.channel
	if a.atlas.isThread(p.thread) {
		in = p.thread
	}
	return webLink(c.GuildID, in, ref.ID)
}

func webLink(guild, channel, id string) string {
	return "https://discord.com/channels/" + guild + "/" + channel + "/" + id
}

func (s *sight) of(ctx context.Context, p place) bool {
	if p.direct() {
		return p == s.from
	}
	if !s.cached(p.channel, func() (bool, error) { return s.channel(ctx, p.channel) }) {
		return false
	}
	return s.cached(p.thread, func() (bool, error) { return s.thread(ctx, p.thread) })
}

func (s *sight) cached(id string, look func() (bool, error)) bool {
	known, ok := s.sees[id]
	if !ok {
		var err error
		if known, err = look(); err != nil {
			s.a.log.Warn("find out what somebody sees", "channel", id, "error", err)
			known = false
		}
		s.sees[id] = known
	}
	return known
}

// channel says whether the person sees a channel of a guild, and is heard there.
func (s *sight) channel(ctx context.Context, id string) (bool, error) {
	c, err := s.a.askChannel(ctx, id) // the atlas keeps no overwrites
	if err != nil || c.GuildID == "" {
		return false, err
	}
	st, ok := s.guilds[c.GuildID]
	if !ok {
		if st, err = s.standing(ctx, c.GuildID); err != nil {
			return false, err
		}
		s.guilds[c.GuildID] = st
	}
	if len(st.roles) == 0 && st.may == 0 || st.effective(c.GuildID, s.who, c.Overwrites)&discordgo.PermissionViewChannel == 0 {
		return false, nil
	}
	return s.a.heardFrom(ctx, speaker{user: s.who, guild: c.GuildID, channel: id, parent: c.ParentID}, func() {})
}

// standing is what the person may do in a guild before any channel has its say.
func (s *sight) standing(ctx context.Context, guild string) (standing, error) {
	k, err := s.a.membership(ctx, guild, s.who)
	if err != nil || !k.is {
		return standing{}, err // which sees nothing
	}
	if s.a.atlas.owner(guild) == s.who {
		return standing{may: everything}, nil
	}
	var roles []role
	err = s.a.rest.call(ctx, request{method: "GET", path: "/guilds/{}/roles", ids: []string{guild}, priority: outbox.Answer, answer: &roles})
	if err != nil {
		return standing{}, fmt.Errorf("list the roles of a server: %w", err)
	}
	return standingOf(guild, k.roles, roles), nil
}

// thread says whether the person sees a thread in a channel that they see. What
// they ask in they see; whether they are in another one that only its members see
// is asked.
func (s *sight) thread(ctx context.Context, id string) (bool, error) {
	if id == s.from.thread {
		return true, nil
	}
	c, err := s.a.channel(ctx, id)
	if code(err) == discordgo.ErrCodeUnknownChannel {
		return true, nil // a chain of replies in the channel
	}
	if err != nil || c.Type != privateThread {
		return err == nil, err
	}
	err = s.a.rest.call(ctx, request{method: "GET", path: "/channels/{}/thread-members/{}", ids: []string{id, s.who}, priority: outbox.Answer})
	if code(err) == discordgo.ErrCodeUnknownMember {
		return false, nil
	}
	return err == nil, err
}
