// Package atlas knows the guilds, channels and threads of a bot, and its permissions there.
package atlas

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
)

// Atlas knows which channels and threads there are, where they stand, and what the
// bot may do there. The Gateway tells all of them at the beginning of a session and
// every change after; a thread that is archived is asked for when somebody writes
// in it. A large bot is told of more than a million, so no more is kept of each
// than every message needs: names and roles are asked for when they are needed.
type Atlas struct {
	who    func() api.User                         // the bot
	me     func(context.Context) (api.User, error) // the same, at Discord if need be
	rest   *api.Client
	lookup time.Duration // for a name

	mu      sync.Mutex
	spots   map[int64]spot
	lands   map[int64]*land
	deleted bounded.Map[string, bool]
	own     map[int64]bool                 // roles that came with the bot
	roles   map[string]map[string]api.Role // by guild and id, of guilds that were asked
	names   bounded.Map[string, string]    // of channels that were asked for
}

type spot struct {
	guild, parent, last int64
	owner               int64  // of a thread
	packed              uint64 // kind, and what the bot may do
}

// unknown says that what the bot may do has to be asked. No permission comes near
// its bit, nor near those of the kind above it.
const (
	unknown   = 1 << 55
	kindShift = 56
)

func (s spot) kind() discordgo.ChannelType { return discordgo.ChannelType(s.packed >> kindShift) }

func (s spot) thread() bool { c := api.Channel{Type: s.kind()}; return c.IsThread() }

func (s spot) may() (int64, bool) {
	return int64(s.packed & (unknown - 1)), s.packed&unknown == 0
}

type land struct {
	owner    string
	tier     int // of its boosts
	standing Standing
	stands   bool // the bot's standing is known
	spots    []int64
}

// New makes an atlas that asks Discord by rest.
func New(who func() api.User, me func(context.Context) (api.User, error), rest *api.Client, lookup time.Duration) *Atlas {
	return &Atlas{
		who: who, me: me, rest: rest, lookup: lookup, spots: map[int64]spot{}, lands: map[int64]*land{}, own: map[int64]bool{},
		roles: map[string]map[string]api.Role{},
	}
}

func (t *Atlas) self() string { return t.who().ID }

// textID writes an id; none is "".
func textID(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// Known gives a channel as far as the atlas has it.
func (t *Atlas) Known(id string) (api.Channel, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.spots[api.Snowflake(id)]
	name, _ := t.names.Get(id)
	return api.Channel{
		ID: id, Type: s.kind(), GuildID: textID(s.guild), ParentID: textID(s.parent), LastMessageID: textID(s.last), Name: name,
		OwnerID: textID(s.owner),
	}, ok
}

// IsThread says whether the atlas knows a thread by this id.
func (t *Atlas) IsThread(id string) bool {
	c, ok := t.Known(id)
	return ok && c.IsThread()
}

// Put notes a channel.
func (t *Atlas) Put(c api.Channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(c)
}

// place notes a channel. A thread that is archived is forgotten: there may be any
// number of them.
func (t *Atlas) place(c api.Channel) {
	id := api.Snowflake(c.ID)
	if id == 0 {
		return
	}
	old, there := t.spots[id]
	s := spot{guild: cmp.Or(api.Snowflake(c.GuildID), old.guild), parent: api.Snowflake(c.ParentID), last: api.Snowflake(c.LastMessageID)}
	s.owner = cmp.Or(api.Snowflake(c.OwnerID), old.owner)
	if c.ThreadMetadata != nil && c.ThreadMetadata.Archived {
		t.forget(id)
		return
	}
	g := t.land(s.guild)
	s.packed = uint64(c.Type&0xff)<<kindShift | unknown
	if g.stands && !c.IsThread() {
		s.packed = s.packed&^unknown | uint64(g.standing.Effective(textID(s.guild), t.self(), c.PermissionOverwrites))&(unknown-1)
	}
	if t.spots[id] = s; there && old.guild != s.guild {
		t.land(old.guild).leave(id)
		there = false
	}
	if !there {
		g.spots = append(g.spots, id)
	}
	t.names.Swap(c.ID, func(was string, _ bool) (string, bool) { return c.Name, was != "" && c.Name != "" })
}

// land gives a guild. The lock is held.
func (t *Atlas) land(id int64) *land {
	g := t.lands[id]
	if g == nil {
		g = &land{}
		t.lands[id] = g
	}
	return g
}

// forget drops a channel, and what stands in it.
func (t *Atlas) forget(id int64) {
	s, ok := t.spots[id]
	if !ok {
		return
	}
	g := t.land(s.guild)
	delete(t.spots, id)
	g.leave(id)
	if s.thread() {
		return
	}
	g.spots = slices.DeleteFunc(g.spots, func(below int64) bool {
		under := t.spots[below].parent == id && t.spots[below].thread()
		if under {
			delete(t.spots, below)
		}
		return under
	})
}

// leave drops a channel from its guild.
func (g *land) leave(id int64) {
	if i := slices.Index(g.spots, id); i >= 0 {
		g.spots[i] = g.spots[len(g.spots)-1]
		g.spots = g.spots[:len(g.spots)-1]
	}
}

func (t *Atlas) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(api.Snowflake(id))
	t.deleted.Add(id)
}

// Gone says whether a channel was deleted.
func (t *Atlas) Gone(id string) bool {
	_, gone := t.deleted.Get(id)
	return gone
}

// PutGuild notes a guild with all that stands in it.
func (t *Atlas) PutGuild(g api.Guild) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.land(api.Snowflake(g.ID))
	l.owner = chat.FirstOf(g.Owner, l.owner)
	if g.Tier != nil {
		l.tier = *g.Tier
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == t.self() {
			l.standing, l.stands = StandingOf(g.ID, m.Roles, g.Roles), true
		}
	}
	t.ownRoles(g.Roles)
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		c.GuildID = g.ID
		t.place(c)
	}
}

// ownRoles notes which roles came with the bot.
func (t *Atlas) ownRoles(roles []api.Role) {
	for _, r := range roles {
		if r.Tags.BotID != "" && r.Tags.BotID == t.self() {
			t.own[api.Snowflake(r.ID)] = true
		}
	}
}

// dropGuild forgets a guild that the bot was taken out of.
func (t *Atlas) dropGuild(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.land(api.Snowflake(id)).spots {
		delete(t.spots, s)
	}
	delete(t.lands, api.Snowflake(id))
	delete(t.roles, id)
}

// Owner is whose a guild is; "" where that is not known.
func (t *Atlas) Owner(guild string) string { return t.guild(guild).owner }

// Tier is how far a guild is boosted.
func (t *Atlas) Tier(guild string) int { return t.guild(guild).tier }

func (t *Atlas) guild(id string) land {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.lands[api.Snowflake(id)]; g != nil {
		return *g
	}
	return land{}
}

// SetOwner notes whose a guild is.
func (t *Atlas) SetOwner(guild, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.land(api.Snowflake(guild)).owner = owner
}

// mostKept is of how many guilds and channels it is kept what was asked of them.
const mostKept = 1000

func (t *Atlas) putRoles(guild string, roles []api.Role) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.roles) >= mostKept {
		clear(t.roles)
	}
	named := map[string]api.Role{}
	for _, r := range roles {
		named[r.ID] = r
	}
	t.roles[guild] = named
	t.ownRoles(roles)
}

// changedRole takes in that a role was made, changed or deleted.
func (t *Atlas) changedRole(guild string, r api.Role) {
	t.unstand(guild, r.ID)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.roles, guild)
	t.ownRoles([]api.Role{r})
}

// Stands says whether a role is the one that came with the bot, and so has its
// name: people pick it from the list when they mean the bot.
func (t *Atlas) Stands(role string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[api.Snowflake(role)]
}

// Role gives a role of a guild, if there is one; known is false where the guild was not asked.
func (t *Atlas) Role(guild, id string) (r api.Role, has, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	named, known := t.roles[guild]
	r, has = named[id]
	return r, has, known
}

// RoleName is the name of a role; "" where that is not known.
func (t *Atlas) RoleName(guild, id string) string {
	r, _, _ := t.Role(guild, id)
	return r.Name
}

// GuildOfRole is the guild that a role is in, as far as it was asked.
func (t *Atlas) GuildOfRole(role string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for guild, names := range t.roles {
		if _, ok := names[role]; ok {
			return guild
		}
	}
	return ""
}

// Wrote says whether something was written in a channel or thread after a message, as
// far as the Gateway told.
func (t *Atlas) Wrote(channel, after string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spots[api.Snowflake(channel)].last > api.Snowflake(after)
}

// written is a channel and the last message in it.
type written struct{ id, last int64 }

// Busy lists the channels and threads in which something was written after a
// message, the latest first and so many at most, and says how many there are. It
// holds nothing up for long: guilds are looked at one by one, and of a million
// channels no more is kept than twice what is listed.
func (t *Atlas) Busy(after string, most int) (list []string, all int) {
	t.mu.Lock()
	lands := make([]*land, 0, len(t.lands))
	for id, g := range t.lands {
		if id != 0 {
			lands = append(lands, g)
		}
	}
	t.mu.Unlock()
	since, found := api.Snowflake(after), make([]written, 0, 2*most)
	latest := func() {
		slices.SortFunc(found, func(x, y written) int { return cmp.Compare(y.last, x.last) })
		found = found[:min(len(found), most)]
	}
	for _, g := range lands {
		t.mu.Lock()
		for _, id := range g.spots {
			s := t.spots[id]
			if s.last <= since {
				continue
			}
			if all++; len(found) == cap(found) {
				latest()
			}
			found = append(found, written{id, s.last})
		}
		t.mu.Unlock()
	}
	latest()
	for _, w := range found {
		list = append(list, textID(w.id))
	}
	return list, all
}

// Draws says whether an event changes the atlas, and takes it in. These come in
// order, before any event that needs them.
func (t *Atlas) Draws(kind string, data json.RawMessage) (bool, error) {
	switch kind {
	case "GUILD_CREATE", "GUILD_UPDATE", "GUILD_DELETE", "THREAD_LIST_SYNC":
		return true, t.drawGuild(kind, data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE", "CHANNEL_DELETE", "THREAD_DELETE":
		var c api.Channel
		if err := api.Decode(data, &c); err != nil {
			return true, err
		}
		switch {
		case kind == "CHANNEL_DELETE" || kind == "THREAD_DELETE":
			t.drop(c.ID)
		case c.ID != "" && (!c.IsThread() || c.ParentID != ""):
			t.Put(c)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var e struct {
			GuildID string   `json:"guild_id"`
			RoleID  string   `json:"role_id"`
			Role    api.Role `json:"role"`
		}
		if err := api.Decode(data, &e); err != nil {
			return true, err
		}
		e.Role.ID = chat.FirstOf(e.Role.ID, e.RoleID)
		t.changedRole(e.GuildID, e.Role)
	case "GUILD_MEMBER_UPDATE":
		var m api.Member
		if err := api.Decode(data, &m); err != nil {
			return true, err
		}
		if m.User != nil && m.User.ID == t.self() {
			t.unstand(m.GuildID, "")
		}
	default:
		return false, nil
	}
	return true, nil
}

// drawGuild takes in what is told of a guild at once. One in an outage is told of
// with nothing in it, and comes back.
func (t *Atlas) drawGuild(kind string, data json.RawMessage) error {
	var g api.Guild
	if err := api.Decode(data, &g); err != nil {
		return err
	}
	g.ID = chat.FirstOf(g.ID, g.GuildID)
	switch {
	case g.ID == "" || g.Unavailable:
	case kind == "GUILD_DELETE":
		t.dropGuild(g.ID)
	default:
		t.PutGuild(g)
	}
	return nil
}

// Learn asks for the roles of a guild.
func (t *Atlas) Learn(ctx context.Context, guild string) error {
	if _, _, known := t.Role(guild, ""); known || guild == "" {
		return nil
	}
	roles, err := api.Get[[]api.Role](ctx, t.rest, outbox.Answer, "/guilds/{}/roles", guild)
	if err != nil {
		return fmt.Errorf("ask for the roles of a guild: %w", err)
	}
	t.putRoles(guild, roles)
	return nil
}

// Channel looks a channel up, at Discord if it has to.
func (t *Atlas) Channel(ctx context.Context, id string) (api.Channel, error) {
	if c, ok := t.Known(id); ok {
		return c, nil
	}
	return t.AskChannel(ctx, id)
}

// AskChannel asks Discord for a channel.
func (t *Atlas) AskChannel(ctx context.Context, id string) (api.Channel, error) {
	c, err := api.Get[api.Channel](ctx, t.rest, outbox.Answer, "/channels/{}", id)
	if err != nil {
		return c, err
	}
	t.Put(c)
	t.names.Put(c.ID, c.Name)
	return c, nil
}

// ChannelName is the name of a channel, "" where there is none to be had.
func (t *Atlas) ChannelName(id string) string {
	c, _ := t.Known(id)
	if c.Name == "" {
		ctx, cancel := context.WithTimeout(context.Background(), t.lookup)
		defer cancel()
		c, _ = t.AskChannel(ctx, id)
	}
	return c.Name
}
