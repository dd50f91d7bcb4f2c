package discord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
	"nod/front"
)

// This file says who is heard: the members of servers that are served, as far as
// discord.allow names them. A public app can be invited by anybody to a server of
// their own, where they would ask and approve as they please.

const (
	memberStays = 10 * time.Minute // how long it is known that somebody is a member
	mostGuilds  = 50               // are asked whether the writer of a direct message is in them
)

// acquaintances are the members that were looked up, and servers that were told
// that they are not served.
type acquaintances struct {
	mu      sync.Mutex
	members bounded.Map[string, known] // by guild and person
	told    bounded.Map[string, time.Time]
	guilds  []string // that are served
	asked   time.Time
}

// known is a membership that was looked up.
type known struct {
	roles []string
	is    bool
	at    time.Time
}

// hears says whether somebody's message is listened to. Where a server is not
// served, a call is answered with a word on what to do.
func (a *Adapter) hears(ctx context.Context, m api.Message, w way) (bool, error) {
	from := m.Author
	if u := a.asked(m); u != nil {
		from = u
	}
	return a.heardFrom(ctx, speaker{user: from.ID, member: m.Member, guild: m.GuildID, channel: m.ChannelID, parent: w.place.Channel, echo: from != m.Author}, func() {
		if w.called {
			a.unserved(ctx, m)
		}
	})
}

// speaker is somebody who says something, and where.
type speaker struct {
	user    string
	member  *api.Member
	guild   string // empty in a direct conversation
	channel string
	parent  string
	echo    bool // member is another's
}

// heardFrom says whether somebody is listened to; refused is called where the
// server is not served.
func (a *Adapter) heardFrom(ctx context.Context, s speaker, refused func()) (bool, error) {
	served, err := a.serves(ctx, s)
	if err != nil {
		return false, err
	}
	if !served {
		refused()
		return false, nil
	}
	return a.allowed(ctx, s)
}

// barred says why somebody may not decide anything.
func (a *Adapter) barred(ctx context.Context, s speaker) (string, error) {
	heard, err := a.heardFrom(ctx, s, func() {})
	if err == nil && !heard {
		return "only those whom discord.allow names may decide here", nil
	}
	return "", err
}

// serves says whether a server is served: one of Options.Guilds; without any, all
// of them, or for a public app those whose owner owns the app or is in its team. A
// direct conversation counts with a member of a served server.
func (a *Adapter) serves(ctx context.Context, s speaker) (bool, error) {
	if s.guild != "" {
		return a.servesGuild(ctx, s.guild)
	}
	if len(a.o.Guilds) == 0 && !a.public() {
		return true, nil
	}
	guilds, doubt := a.served(ctx)
	for _, guild := range guilds[:min(len(guilds), mostGuilds)] {
		k, err := a.membership(ctx, guild, s.user)
		if err != nil {
			doubt = err
		} else if k.is {
			return true, nil
		}
	}
	return false, doubt
}

func (a *Adapter) servesGuild(ctx context.Context, guild string) (bool, error) {
	if len(a.o.Guilds) > 0 {
		return slices.Contains(a.o.Guilds, guild), nil
	}
	if !a.public() {
		return true, nil
	}
	owner := a.atlas.Owner(guild)
	if owner == "" {
		var g struct {
			Owner string `json:"owner_id"`
		}
		err := a.rest.Call(ctx, api.Request{Method: "GET", Path: "/guilds/{}", IDs: []string{guild}, Priority: outbox.Answer, Answer: &g})
		if err != nil {
			return false, fmt.Errorf("look up whose server it is: %w", err)
		}
		owner = g.Owner
		a.atlas.SetOwner(guild, owner)
	}
	return a.owns(owner), nil
}

// public says whether anybody may invite the app. One of which that is not known
// may be.
func (a *Adapter) public() bool {
	p := a.self.application().Public
	return p == nil || *p
}

// owns says whether somebody owns the app or is in its team.
func (a *Adapter) owns(user string) bool {
	app := a.self.application()
	if app.Team == nil {
		return user != "" && user == app.Owner.ID
	}
	for _, m := range app.Team.Members {
		if user != "" && m.User.ID == user {
			return true
		}
	}
	return false
}

// served lists the servers that are served, or of very many the first.
func (a *Adapter) served(ctx context.Context) ([]string, error) {
	if len(a.o.Guilds) > 0 {
		return a.o.Guilds, nil
	}
	a.people.mu.Lock()
	list, at := a.people.guilds, a.people.asked
	a.people.mu.Unlock()
	if !at.IsZero() && a.o.Now().Sub(at) < memberStays {
		return list, nil
	}
	guilds, err := api.Guilds(func(path string, into any) error {
		return a.rest.Call(ctx, api.Request{Method: "GET", Path: path, Priority: outbox.Answer, Answer: into})
	})
	if err != nil {
		return nil, fmt.Errorf("list the servers: %w", err)
	}
	list = nil
	for _, g := range guilds {
		serves, err := a.servesGuild(ctx, g.ID)
		if err != nil {
			return nil, err
		}
		if serves && len(list) < mostGuilds {
			list = append(list, g.ID)
		}
	}
	a.people.mu.Lock()
	defer a.people.mu.Unlock()
	a.people.guilds, a.people.asked = list, a.o.Now()
	return list, nil
}

// allowed says whether one of the rules of Options.Allow names somebody.
func (a *Adapter) allowed(ctx context.Context, s speaker) (bool, error) {
	return front.Allowed(a.o.Allow, s.user, []string{s.channel, s.parent}, func(rule string) (bool, error) {
		return a.hasRole(ctx, s, strings.TrimPrefix(rule, "role:"))
	})
}

func (a *Adapter) hasRole(ctx context.Context, s speaker, role string) (bool, error) {
	if s.member != nil && !s.echo && s.guild != "" {
		return slices.Contains(s.member.Roles, role), nil
	}
	guilds, doubt := []string{s.guild}, error(nil)
	if s.guild == "" {
		if guilds[0] = a.atlas.GuildOfRole(role); guilds[0] == "" {
			guilds, doubt = a.served(ctx)
		}
	}
	for _, guild := range guilds[:min(len(guilds), mostGuilds)] {
		k, err := a.membership(ctx, guild, s.user)
		if err != nil {
			doubt = err
		} else if slices.Contains(k.roles, role) {
			return true, nil
		}
	}
	return false, doubt
}

// membership looks up whether somebody is in a server, and with which roles.
func (a *Adapter) membership(ctx context.Context, guild, who string) (known, error) {
	key := guild + " " + who
	k, ok := a.people.members.Get(key)
	if ok && a.o.Now().Sub(k.at) < memberStays {
		return k, nil
	}
	var m api.Member
	err := a.rest.Call(ctx, api.Request{
		Method: "GET", Path: "/guilds/{}/members/{}", IDs: []string{guild, who}, Priority: outbox.Answer, Answer: &m,
	})
	switch {
	case err == nil:
		k = known{m.Roles, true, a.o.Now()}
	case slices.Contains([]int{discordgo.ErrCodeUnknownMember, discordgo.ErrCodeUnknownUser, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeMissingAccess}, api.Code(err)):
		k = known{at: a.o.Now().Add(time.Minute - memberStays)} // who joins is soon heard
	default:
		return k, fmt.Errorf("look up a member: %w", err)
	}
	a.people.members.Put(key, k)
	return k, nil
}

// unservedText says which key to set.
func unservedText(guild string) string {
	return "I am not set up for this server. Whoever runs me can add it: `discord.guilds: [\"" + guild + "\"]`."
}

// unserved says, once in a while, that a server is not served.
func (a *Adapter) unserved(ctx context.Context, m api.Message) {
	if m.GuildID == "" || !a.once("unserved "+m.GuildID, time.Hour) {
		return
	}
	a.remark(ctx, m, unservedText(m.GuildID))
}

// once says whether something was not said for a while, and notes that it is now.
func (a *Adapter) once(what string, in time.Duration) bool {
	now := a.o.Now()
	return a.people.told.Swap(what, func(at time.Time, said bool) (time.Time, bool) { return now, !said || now.Sub(at) >= in })
}

// remark says one small line in answer to a message, outside of any conversation.
func (a *Adapter) remark(ctx context.Context, m api.Message, text string) {
	b := layout.Part{Content: "-# " + text}.Change()
	b.Flags, b.Reference = api.SuppressEmbeds|api.Silent, &layout.Answered{Message: m.ID}
	b.Nonce, b.Enforce = api.Nonce(chat.ThreadID{Platform: Platform, Channel: m.ChannelID}, "remark "+m.ID+text, 0, 0), true
	r := api.Request{Method: "POST", Path: "/channels/{}/messages", IDs: []string{m.ChannelID}, Body: b, Priority: outbox.Low}
	err := a.rest.Call(ctx, r)
	if api.Code(err) == api.CodeNoHistory || api.Code(err) == api.CodeBadForm {
		b.Reference = nil
		r.Body = b
		err = a.rest.Call(ctx, r)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("say why nothing is answered", "error", err)
	}
}

const hintEvery = 24 * time.Hour

// hint tells, once in a conversation, that the bot would have to be mentioned.
func (a *Adapter) hint(ctx context.Context, m api.Message, w way) {
	if w.known == nil || !a.once("hint "+w.place.String(), hintEvery) {
		return
	}
	a.remark(ctx, m, "I read only messages that mention me, or that reply to me with a ping.")
}

// hiddenText stands for a message that Discord doesn't show the bot.
const hiddenText = "(its text can't be seen: say so if it matters, and that `Ask nod about this` on the message, or copying it, would help)"

// blind says whether a message that calls the bot can't be read at all: without
// the intent Discord shows the text of those that mention the bot itself only.
func (a *Adapter) blind(m api.Message) bool {
	return m.GuildID != "" && m.Content == "" && m.Unspoken() == "" && len(m.Attachments) == 0 && len(m.Snapshots) == 0 && !a.reads()
}

func (a *Adapter) sayBlind(ctx context.Context, m api.Message) {
	a.remark(ctx, m, "I can't read this: mention me by name, not by role, or use /ask.")
}
