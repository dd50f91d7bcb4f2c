// Package people says who is heard on Discord: the members of servers that are served,
// as far as discord.allow names them. A public app can be invited by anybody to a server
// of their own, where they would ask and approve as they please.
package people

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
	"nod/front"
)

const (
	memberStays = 10 * time.Minute // how long it is known that somebody is a member
	mostGuilds  = 50               // are asked whether the writer of a direct message is in them
)

// Options say whom the bot hears.
type Options struct {
	Guilds []string // that are served; empty: see [People.Serves]
	Allow  []string // rules, of which one has to name a person; empty: all are heard
	Now    func() time.Time
	App    func() api.Application // what is known of the bot's application
	Logger *slog.Logger
}

// People knows who is heard. All methods may be called concurrently.
type People struct {
	o       Options
	rest    *api.Client
	atlas   *atlas.Atlas
	members bounded.Map[string, Membership] // by guild and person

	mu     sync.Mutex
	guilds []string // that are served
	asked  time.Time
}

// New makes People.
func New(o Options, rest *api.Client, guilds *atlas.Atlas) *People {
	return &People{o: o, rest: rest, atlas: guilds}
}

// Membership is what was looked up of somebody in a guild.
type Membership struct {
	Roles []string
	Is    bool // a member
	at    time.Time
}

// Speaker is somebody who says something, and where.
type Speaker struct {
	User    string
	Member  *api.Member
	Guild   string // empty in a direct conversation
	Channel string
	Parent  string
	Echo    bool // Member is another's
}

// Heard says whether somebody is listened to, and whether the server is served at all.
func (p *People) Heard(ctx context.Context, s Speaker) (heard, served bool, err error) {
	if served, err = p.Serves(ctx, s); err != nil || !served {
		return false, served, err
	}
	heard, err = front.Allowed(p.o.Allow, s.User, []string{s.Channel, s.Parent}, func(rule string) (bool, error) {
		return p.hasRole(ctx, s, strings.TrimPrefix(rule, "role:"))
	})
	return heard, true, err
}

// Barred says why somebody may not decide anything.
func (p *People) Barred(ctx context.Context, s Speaker) (string, error) {
	heard, _, err := p.Heard(ctx, s)
	if err == nil && !heard {
		return "only those whom discord.allow names may decide here", nil
	}
	return "", err
}

// Serves says whether a server is served: one of [Options].Guilds; without any, all
// of them, or for a public app those whose owner owns the app or is in its team. A
// direct conversation counts with a member of a served server.
func (p *People) Serves(ctx context.Context, s Speaker) (bool, error) {
	if s.Guild != "" {
		return p.ServesGuild(ctx, s.Guild)
	}
	if p.all() {
		return true, nil
	}
	guilds, doubt := p.served(ctx)
	return p.somewhere(ctx, guilds, s.User, func(k Membership) bool { return k.Is }, doubt)
}

// somewhere says whether what somebody is in one of the servers will do. doubt is why the
// servers are not known.
func (p *People) somewhere(ctx context.Context, guilds []string, user string, does func(Membership) bool, doubt error) (bool, error) {
	for _, guild := range guilds[:min(len(guilds), mostGuilds)] {
		k, err := p.Membership(ctx, guild, user)
		if err != nil {
			doubt = err
		} else if does(k) {
			return true, nil
		}
	}
	return false, doubt
}

// ServesGuild says whether a guild is served, whoever speaks.
func (p *People) ServesGuild(ctx context.Context, guild string) (bool, error) {
	if len(p.o.Guilds) > 0 {
		return slices.Contains(p.o.Guilds, guild), nil
	}
	if !p.public() {
		return true, nil
	}
	owner := p.atlas.Owner(guild)
	if owner == "" {
		g, err := api.Get[api.Guild](ctx, p.rest, outbox.Answer, "/guilds/{}", guild)
		if err != nil {
			return false, fmt.Errorf("look up whose server it is: %w", err)
		}
		owner = g.Owner
		p.atlas.SetOwner(guild, owner)
	}
	return p.owns(owner), nil
}

// all says whether every server is served.
func (p *People) all() bool { return len(p.o.Guilds) == 0 && !p.public() }

// Anew forgets which memberships were known of a person who counts by them.
func (p *People) Anew(ctx context.Context, user string) error {
	if p.all() {
		return nil
	}
	guilds, err := p.served(ctx)
	for _, guild := range guilds {
		p.members.Take(guild + " " + user)
	}
	return err
}

// public says whether anybody may invite the app. One of which that is not known
// may be.
func (p *People) public() bool {
	public := p.o.App().Public
	return public == nil || *public
}

// owns says whether somebody owns the app or is in its team.
func (p *People) owns(user string) bool {
	app := p.o.App()
	if app.Team == nil {
		return user != "" && user == app.Owner.ID
	}
	for _, m := range app.Team.Members {
		if user != "" && m.User != nil && m.User.ID == user {
			return true
		}
	}
	return false
}

// served lists the servers that are served, or of very many the first.
func (p *People) served(ctx context.Context) ([]string, error) {
	if len(p.o.Guilds) > 0 {
		return p.o.Guilds, nil
	}
	p.mu.Lock()
	list, at := p.guilds, p.asked
	p.mu.Unlock()
	if !at.IsZero() && p.o.Now().Sub(at) < memberStays {
		return list, nil
	}
	guilds, err := api.Guilds(func(path string, into any) error {
		return p.rest.Call(ctx, api.Request{Method: "GET", Path: path, Priority: outbox.Answer, Answer: into})
	})
	if err != nil {
		return nil, fmt.Errorf("list the servers: %w", err)
	}
	list = nil
	for _, g := range guilds {
		serves, err := p.ServesGuild(ctx, g.ID)
		if err != nil {
			return nil, err
		}
		if serves && len(list) < mostGuilds {
			list = append(list, g.ID)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guilds, p.asked = list, p.o.Now()
	return list, nil
}

func (p *People) hasRole(ctx context.Context, s Speaker, role string) (bool, error) {
	if s.Member != nil && !s.Echo && s.Guild != "" {
		return slices.Contains(s.Member.Roles, role), nil
	}
	guilds, doubt := []string{s.Guild}, error(nil)
	if s.Guild == "" {
		if guilds[0] = p.atlas.GuildOfRole(role); guilds[0] == "" {
			guilds, doubt = p.served(ctx)
		}
	}
	return p.somewhere(ctx, guilds, s.User, func(k Membership) bool { return slices.Contains(k.Roles, role) }, doubt)
}

// Membership looks up whether somebody is in a server, and with which roles.
func (p *People) Membership(ctx context.Context, guild, who string) (Membership, error) {
	key := guild + " " + who
	k, ok := p.members.Get(key)
	if ok && p.o.Now().Sub(k.at) < memberStays {
		return k, nil
	}
	m, is, err := p.Member(ctx, guild, who, outbox.Answer)
	switch {
	case is:
		k = Membership{m.Roles, true, p.o.Now()}
	case err == nil || api.Code(err) == discordgo.ErrCodeUnknownGuild || api.Code(err) == discordgo.ErrCodeMissingAccess:
		k = Membership{at: p.o.Now().Add(time.Minute - memberStays)} // who joins is soon heard
	default:
		return k, err
	}
	p.members.Put(key, k)
	return k, nil
}

// mostAside is how many members are looked up side by side.
const mostAside = 8

// Having says which people have a role of a guild now.
func (p *People) Having(ctx context.Context, guild, role string, who []chat.UserID) (in []chat.UserID, err error) {
	has := make([]bool, len(who))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mostAside)
	for i, u := range who {
		g.Go(func() error {
			m, is, err := p.Member(ctx, guild, string(u), outbox.Approval)
			has[i] = is && (role == guild || slices.Contains(m.Roles, role)) // everybody has the role that is named as the guild
			return err
		})
	}
	err = g.Wait()
	for i, u := range who {
		if has[i] && err == nil {
			in = append(in, u)
		}
	}
	return in, err
}

// Member looks a member of a guild up now; is says whether they are one.
func (p *People) Member(ctx context.Context, guild, who string, urgent outbox.Priority) (m api.Member, is bool, err error) {
	m, err = api.Get[api.Member](ctx, p.rest, urgent, "/guilds/{}/members/{}", guild, who)
	switch {
	case api.Code(err) == discordgo.ErrCodeUnknownMember || api.Code(err) == discordgo.ErrCodeUnknownUser:
		return m, false, nil
	case err != nil:
		return m, false, fmt.Errorf("look up a member: %w", err)
	}
	return m, true, nil
}

// Bounds of looking for who has a role: members of one answer, and answers. Of a
// server with more members it can't be told.
const (
	mostMembers     = 1000
	mostMemberPages = 10
)

// HaveRole lists people who have a role, up to so many
// (https://discord.com/developers/docs/resources/guild#list-guild-members).
func (p *People) HaveRole(ctx context.Context, guild, role string, most int) (who []chat.User, known bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(mostMembers)}}
	for range mostMemberPages {
		var page []api.Member
		err := p.rest.Call(ctx, api.Request{
			Method: "GET", Path: "/guilds/{}/members", IDs: []string{guild}, Query: query, Priority: outbox.Answer, Answer: &page,
		})
		if err != nil {
			return nil, false, fmt.Errorf("list members: %w", err)
		}
		for _, m := range page {
			if m.User != nil && slices.Contains(m.Roles, role) {
				who = append(who, api.UserOf(*m.User, &m))
			}
		}
		if len(who) >= most || len(page) < mostMembers {
			return who, true, nil
		}
		query.Set("after", page[len(page)-1].User.ID)
	}
	return who, len(who) > 0, nil
}
