package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"nod/chat"
	"nod/chat/outbox"
)

// atlas knows which channels and threads there are, where they stand, and what the
// bot may do there. The Gateway tells all of them at the beginning of a session and
// every change after; a thread that is archived is asked for when somebody writes
// in it. A large bot is told of more than a million, so no more is kept of each
// than every message needs: names and roles are asked for when they are needed.
type atlas struct {
	who func() user // the bot

	mu      sync.Mutex
	spots   map[int64]spot
	lands   map[int64]*land
	deleted map[string]bool
	own     map[int64]bool               // roles that came with the bot
	roles   map[string]map[string]string // by guild and id: their names, of guilds that were asked
	names   map[string]string            // of channels that were asked for
}

// spot is a channel or thread.
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

func (s spot) kind() int { return int(s.packed >> kindShift) }

func (s spot) thread() bool { return channel{Type: s.kind()}.thread() }

func (s spot) may() (int64, bool) {
	return int64(s.packed & (unknown - 1)), s.packed&unknown == 0
}

// land is a guild.
type land struct {
	owner    string
	tier     int // of its boosts
	standing standing
	stands   bool // the bot's standing is known
	spots    []int64
}

func newAtlas(who func() user) *atlas {
	return &atlas{
		who: who, spots: map[int64]spot{}, lands: map[int64]*land{}, deleted: map[string]bool{}, own: map[int64]bool{},
		roles: map[string]map[string]string{}, names: map[string]string{},
	}
}

// self is the bot's user id.
func (t *atlas) self() string { return t.who().ID }

// textID writes an id; none is "".
func textID(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

func (t *atlas) channel(id string) (channel, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.spots[snowflake(id)]
	return channel{
		ID: id, Type: s.kind(), GuildID: textID(s.guild), ParentID: textID(s.parent), Last: textID(s.last), Name: t.names[id],
		Owner: textID(s.owner),
	}, ok
}

func (t *atlas) isThread(id string) bool {
	c, ok := t.channel(id)
	return ok && c.thread()
}

func (t *atlas) put(c channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(c)
}

// place notes a channel. A thread that is archived is forgotten: there may be any
// number of them.
func (t *atlas) place(c channel) {
	id := snowflake(c.ID)
	if id == 0 {
		return
	}
	old, there := t.spots[id]
	s := spot{guild: cmp.Or(snowflake(c.GuildID), old.guild), parent: snowflake(c.ParentID), last: snowflake(c.Last)}
	s.owner = cmp.Or(snowflake(c.Owner), old.owner)
	if c.Metadata != nil && c.Metadata.Archived {
		t.forget(id)
		return
	}
	g := t.land(s.guild)
	s.packed = uint64(c.Type&0xff)<<kindShift | unknown
	if g.stands && !c.thread() {
		s.packed = s.packed&^unknown | uint64(g.standing.effective(textID(s.guild), t.self(), c.Overwrites))&(unknown-1)
	}
	if t.spots[id] = s; there && old.guild != s.guild {
		t.land(old.guild).leave(id)
		there = false
	}
	if !there {
		g.spots = append(g.spots, id)
	}
	if c.Name != "" && t.names[c.ID] != "" {
		t.names[c.ID] = c.Name
	}
}

// land gives a guild. The lock is held.
func (t *atlas) land(id int64) *land {
	g := t.lands[id]
	if g == nil {
		g = &land{}
		t.lands[id] = g
	}
	return g
}

// forget drops a channel, and what stands in it.
func (t *atlas) forget(id int64) {
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

func (t *atlas) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(snowflake(id))
	if len(t.deleted) >= mostNoted {
		clear(t.deleted)
	}
	t.deleted[id] = true
}

// gone says whether a channel was deleted.
func (t *atlas) gone(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deleted[id]
}

func (t *atlas) putGuild(g guild) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.land(snowflake(g.ID))
	l.owner = chat.FirstOf(g.Owner, l.owner)
	if g.Tier != nil {
		l.tier = *g.Tier
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == t.self() {
			l.standing, l.stands = standingOf(g.ID, m.Roles, g.Roles), true
		}
	}
	t.ownRoles(g.Roles)
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		c.GuildID = g.ID
		t.place(c)
	}
}

// ownRoles notes which roles came with the bot.
func (t *atlas) ownRoles(roles []role) {
	for _, r := range roles {
		if r.Tags.BotID != "" && r.Tags.BotID == t.self() {
			t.own[snowflake(r.ID)] = true
		}
	}
}

// dropGuild forgets a guild that the bot was taken out of.
func (t *atlas) dropGuild(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.land(snowflake(id)).spots {
		delete(t.spots, s)
	}
	delete(t.lands, snowflake(id))
	delete(t.roles, id)
}

// owner is whose a guild is; "" where that is not known.
func (t *atlas) owner(guild string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.lands[snowflake(guild)]; g != nil {
		return g.owner
	}
	return ""
}

// tier is how far a guild is boosted.
func (t *atlas) tier(guild string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.lands[snowflake(guild)]; g != nil {
		return g.tier
	}
	return 0
}

func (t *atlas) setOwner(guild, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.land(snowflake(guild)).owner = owner
}

// mostKept is of how many guilds and channels it is kept what was asked of them.
const mostKept = 1000

func (t *atlas) putRoles(guild string, roles []role) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.roles) >= mostKept {
		clear(t.roles)
	}
	names := map[string]string{}
	for _, r := range roles {
		names[r.ID] = r.Name
	}
	t.roles[guild] = names
	t.ownRoles(roles)
}

// changedRole takes in that a role was made, changed or deleted.
func (t *atlas) changedRole(guild string, r role) {
	t.unstand(guild, r.ID)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.roles, guild)
	t.ownRoles([]role{r})
}

// stands says whether a role is the one that came with the bot, and so has its
// name: people pick it from the list when they mean the bot.
func (t *atlas) stands(role string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[snowflake(role)]
}

// roleName is the name of a role, as far as its guild was asked.
func (t *atlas) roleName(guild, id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.roles[guild][id]
}

// hasRole says whether a guild has a role; known is false where it was not asked.
func (t *atlas) hasRole(guild, id string) (has, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names, known := t.roles[guild]
	_, has = names[id]
	return has, known
}

// guildOfRole is the guild that a role is in, as far as it was asked.
func (t *atlas) guildOfRole(role string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for guild, names := range t.roles {
		if _, ok := names[role]; ok {
			return guild
		}
	}
	return ""
}

// wrote says whether something was written in a channel or thread after a message, as
// far as the Gateway told.
func (t *atlas) wrote(channel, after string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spots[snowflake(channel)].last > snowflake(after)
}

// written is a channel and the last message in it.
type written struct{ id, last int64 }

// busy lists the channels and threads in which something was written after a
// message, the latest first and so many at most, and says how many there are. It
// holds nothing up for long: guilds are looked at one by one, and of a million
// channels no more is kept than twice what is listed.
func (t *atlas) busy(after string, most int) (list []string, all int) {
	t.mu.Lock()
	lands := make([]*land, 0, len(t.lands))
	for id, g := range t.lands {
		if id != 0 {
			lands = append(lands, g)
		}
	}
	t.mu.Unlock()
	since, found := snowflake(after), make([]written, 0, 2*most)
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

// draws says whether an event changes the atlas, and takes it in. These come in
// order, before any event that needs them.
func (t *atlas) draws(kind string, data json.RawMessage) (bool, error) {
	switch kind {
	case "GUILD_CREATE", "GUILD_UPDATE", "GUILD_DELETE", "THREAD_LIST_SYNC":
		return true, t.drawGuild(kind, data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE", "CHANNEL_DELETE", "THREAD_DELETE":
		var c channel
		if err := decode(data, &c); err != nil {
			return true, err
		}
		switch {
		case kind == "CHANNEL_DELETE" || kind == "THREAD_DELETE":
			t.drop(c.ID)
		case c.ID != "" && (!c.thread() || c.ParentID != ""):
			t.put(c)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var e struct {
			GuildID string `json:"guild_id"`
			RoleID  string `json:"role_id"`
			Role    role   `json:"role"`
		}
		if err := decode(data, &e); err != nil {
			return true, err
		}
		e.Role.ID = chat.FirstOf(e.Role.ID, e.RoleID)
		t.changedRole(e.GuildID, e.Role)
	case "GUILD_MEMBER_UPDATE":
		var m member
		if err := decode(data, &m); err != nil {
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
func (t *atlas) drawGuild(kind string, data json.RawMessage) error {
	var g guild
	if err := decode(data, &g); err != nil {
		return err
	}
	g.ID = chat.FirstOf(g.ID, g.GuildID)
	switch {
	case g.ID == "" || g.Unavailable:
	case kind == "GUILD_DELETE":
		t.dropGuild(g.ID)
	default:
		t.putGuild(g)
	}
	return nil
}

// learn asks for the roles of a guild.
func (a *Adapter) learn(ctx context.Context, guild string) error {
	if _, known := a.atlas.hasRole(guild, ""); known || guild == "" {
		return nil
	}
	var roles []role
	err := a.rest.call(ctx, request{method: "GET", path: "/guilds/{}/roles", ids: []string{guild}, priority: outbox.Answer, answer: &roles})
	if err != nil {
		return fmt.Errorf("ask for the roles of a guild: %w", err)
	}
	a.atlas.putRoles(guild, roles)
	return nil
}

// channel looks a channel up, at Discord if it has to.
func (a *Adapter) channel(ctx context.Context, id string) (channel, error) {
	if c, ok := a.atlas.channel(id); ok {
		return c, nil
	}
	return a.askChannel(ctx, id)
}

func (a *Adapter) askChannel(ctx context.Context, id string) (channel, error) {
	var c channel
	err := a.rest.call(ctx, request{method: "GET", path: "/channels/{}", ids: []string{id}, priority: outbox.Answer, answer: &c})
	if err != nil {
		return c, err
	}
	a.atlas.put(c)
	a.atlas.name(c)
	return c, nil
}

func (t *atlas) name(c channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.names) >= mostNoted {
		clear(t.names)
	}
	t.names[c.ID] = c.Name
}

// channelName is the name of a channel, "" where there is none to be had.
func (a *Adapter) channelName(id string) string {
	c, _ := a.atlas.channel(id)
	if c.Name == "" {
		ctx, cancel := context.WithTimeout(context.Background(), a.o.Lookup)
		defer cancel()
		c, _ = a.askChannel(ctx, id)
	}
	return c.Name
}
