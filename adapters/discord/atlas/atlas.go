// Package atlas knows the guilds, channels and threads of a bot, and its permissions there.
package atlas

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// spot is a channel. What the bot may do there is known unless it has to be asked.
type spot struct {
	guild, parent, last int64
	owner               int64 // of a thread
	may                 int64
	known               bool
	kind                uint8
}

// channel gives the channel with its texts.
func (s spot) channel(id, name string) api.Channel {
	return api.Channel{
		ID: id, Type: discordgo.ChannelType(s.kind), GuildID: textID(s.guild), ParentID: textID(s.parent), LastMessageID: textID(s.last),
		OwnerID: textID(s.owner), Name: name,
	}
}

func (s spot) thread() bool {
	c := s.channel("", "")
	return c.IsThread()
}

type land struct {
	owner    string
	tier     int       // of its boosts
	standing *Standing // the bot's, where that is known
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
	return s.channel(id, name), ok
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
	if id == 0 || c.IsThread() && c.ParentID == "" {
		return
	}
	if c.ThreadMetadata != nil && c.ThreadMetadata.Archived {
		t.forget(id)
		return
	}
	old := t.spots[id]
	s := spot{
		guild: cmp.Or(api.Snowflake(c.GuildID), old.guild), parent: api.Snowflake(c.ParentID), last: api.Snowflake(c.LastMessageID),
		owner: cmp.Or(api.Snowflake(c.OwnerID), old.owner), kind: uint8(c.Type), //nolint:gosec // Discord has few kinds
	}
	if stands := t.land(s.guild).standing; stands != nil && !c.IsThread() {
		s.may, s.known = stands.Effective(textID(s.guild), t.self(), c.PermissionOverwrites), true
	}
	t.spots[id] = s
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

// forget drops a channel, and the threads in it.
func (t *Atlas) forget(id int64) {
	s, ok := t.spots[id]
	delete(t.spots, id)
	if ok && !s.thread() {
		maps.DeleteFunc(t.spots, func(_ int64, below spot) bool { return below.parent == id && below.thread() })
	}
}

func (t *Atlas) drop(c api.Channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(api.Snowflake(c.ID))
	t.deleted.Add(c.ID)
}

// Gone says whether a channel was deleted.
func (t *Atlas) Gone(id string) bool {
	_, gone := t.deleted.Get(id)
	return gone
}

// PutGuild notes a guild with all that stands in it. One in an outage is told of with
// nothing in it, and comes back.
func (t *Atlas) PutGuild(g api.Guild) {
	if g.ID = chat.FirstOf(g.ID, g.GuildID); g.ID == "" || g.Unavailable {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.land(api.Snowflake(g.ID))
	l.owner = chat.FirstOf(g.Owner, l.owner)
	if g.Tier != nil {
		l.tier = *g.Tier
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == t.self() {
			stands := StandingOf(g.ID, m.Roles, g.Roles)
			l.standing = &stands
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
func (t *Atlas) dropGuild(g api.Guild) {
	if g.Unavailable {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	guild := api.Snowflake(g.ID)
	maps.DeleteFunc(t.spots, func(_ int64, s spot) bool { return s.guild == guild })
	delete(t.lands, guild)
	delete(t.roles, g.ID)
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

// role is a role that was made, changed or deleted.
type role struct {
	GuildID string   `json:"guild_id"`
	RoleID  string   `json:"role_id"`
	Role    api.Role `json:"role"`
}

func (t *Atlas) changedRole(r role) {
	r.Role.ID = chat.FirstOf(r.Role.ID, r.RoleID)
	t.unstand(r.GuildID, r.Role.ID)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.roles, r.GuildID)
	t.ownRoles([]api.Role{r.Role})
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

// Busy lists the channels and threads in which something was written after a message, the
// latest first and so many at most, and says how many there are.
func (t *Atlas) Busy(after string, most int) (list []string, all int) {
	since := api.Snowflake(after)
	type written struct{ id, last int64 }
	var found []written
	t.mu.Lock()
	for id, s := range t.spots {
		if s.guild != 0 && s.last > since {
			found = append(found, written{id, s.last})
		}
	}
	t.mu.Unlock()
	slices.SortFunc(found, func(x, y written) int { return cmp.Compare(y.last, x.last) })
	for _, w := range found[:min(len(found), most)] {
		list = append(list, textID(w.id))
	}
	return list, len(found)
}

// Draws says whether an event changes the atlas, and takes it in. These come in
// order, before any event that needs them.
func (t *Atlas) Draws(kind string, data json.RawMessage) (bool, error) {
	switch kind {
	case "GUILD_CREATE", "GUILD_UPDATE", "THREAD_LIST_SYNC":
		return taken(data, t.PutGuild)
	case "GUILD_DELETE":
		return taken(data, t.dropGuild)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		return taken(data, t.Put)
	case "CHANNEL_DELETE", "THREAD_DELETE":
		return taken(data, t.drop)
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		return taken(data, t.changedRole)
	case "GUILD_MEMBER_UPDATE":
		return taken(data, func(m api.Member) {
			if m.User != nil && m.User.ID == t.self() {
				t.unstand(m.GuildID, "")
			}
		})
	}
	return false, nil
}

func taken[T any](data json.RawMessage, take func(T)) (bool, error) {
	var v T
	err := api.Decode(data, &v)
	if err == nil {
		take(v)
	}
	return true, err
}

// mostKept is of how many guilds the roles are kept.
const mostKept = 1000

// Learn asks for the roles of a guild.
func (t *Atlas) Learn(ctx context.Context, guild string) error {
	if _, _, known := t.Role(guild, ""); known || guild == "" {
		return nil
	}
	roles, err := api.Get[[]api.Role](ctx, t.rest, outbox.Answer, "/guilds/{}/roles", guild)
	if err != nil {
		return fmt.Errorf("ask for the roles of a guild: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.roles) >= mostKept {
		clear(t.roles)
	}
	t.roles[guild] = map[string]api.Role{}
	for _, r := range roles {
		t.roles[guild][r.ID] = r
	}
	t.ownRoles(roles)
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
