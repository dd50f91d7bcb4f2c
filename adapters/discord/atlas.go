package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"nod/chat/outbox"
)

// atlas knows which channels, threads and roles there are. The Gateway tells
// all of them at the beginning of a session and every change after; a thread
// that was archived all the while is asked for when somebody writes in it.
type atlas struct {
	mu       sync.Mutex
	channels map[string]channel
	deleted  map[string]bool
	roles    map[string]map[string]string // by guild and id: their names
	guildOf  map[string]string            // by role
	botOf    map[string]string            // by role that came with a bot
	standing map[string]standing          // the bot's, by guild
	who      func() user                  // the bot
	owners   map[string]string            // by guild
	allowed  map[string]int64             // what the bot may do, by channel
}

func newAtlas(who func() user) *atlas {
	return &atlas{
		who:      who,
		channels: map[string]channel{}, deleted: map[string]bool{}, roles: map[string]map[string]string{}, guildOf: map[string]string{}, botOf: map[string]string{},
		owners: map[string]string{}, standing: map[string]standing{}, allowed: map[string]int64{},
	}
}

func (t *atlas) isThread(id string) bool {
	c, ok := t.channel(id)
	return ok && c.thread()
}

// self is the bot's user id.
func (t *atlas) self() string { return t.who().ID }

func (t *atlas) channel(id string) (channel, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.channels[id]
	return c, ok
}

func (t *atlas) put(c channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.channels[c.ID]; ok && c.GuildID == "" {
		c.GuildID = old.GuildID
	}
	t.judge(c)
	c.Overwrites = nil
	t.channels[c.ID] = c
}

func (t *atlas) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.channels, id)
	delete(t.allowed, id)
	if len(t.deleted) >= mostNoted {
		clear(t.deleted)
	}
	t.deleted[id] = true
}

// dropGuild forgets a guild that the bot was taken out of.
func (t *atlas) dropGuild(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, known := range t.channels {
		if known.GuildID == id {
			delete(t.channels, c)
			delete(t.allowed, c)
		}
	}
	for r := range t.roles[id] {
		delete(t.guildOf, r)
		delete(t.botOf, r)
	}
	delete(t.roles, id)
	delete(t.owners, id)
	delete(t.standing, id)
}

// guilds lists the guilds that were told of, and who owns them.
func (t *atlas) guilds() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.owners)
}

func (t *atlas) own(guild, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owners[guild] = owner
}

// guildOfRole is the guild that a role is in.
func (t *atlas) guildOfRole(role string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.guildOf[role]
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
	t.stand(g)
	if g.Owner != "" {
		t.owners[g.ID] = g.Owner
	}
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		if c.ID != "" {
			c.GuildID = g.ID
			t.judge(c)
			c.Overwrites = nil
			t.channels[c.ID] = c
		}
	}
	t.nameRoles(g.ID, g.Roles)
}

func (t *atlas) putRoles(guild string, roles []role) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nameRoles(guild, roles)
}

func (t *atlas) nameRoles(guild string, roles []role) {
	names := map[string]string{}
	for _, r := range roles {
		names[r.ID] = r.Name
		t.guildOf[r.ID], t.botOf[r.ID] = guild, r.Tags.BotID
	}
	t.roles[guild] = names
}

func (t *atlas) putRole(guild string, r role, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := maps.Clone(t.roles[guild])
	if names == nil {
		return
	}
	if gone {
		delete(names, r.ID)
		delete(t.guildOf, r.ID)
		delete(t.botOf, r.ID)
	} else {
		names[r.ID] = r.Name
		t.guildOf[r.ID], t.botOf[r.ID] = guild, r.Tags.BotID
	}
	t.roles[guild] = names
}

// stands says whether a role is the one that came with a bot, and so has its
// name: people pick it from the list when they mean the bot.
func (t *atlas) stands(role, bot string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bot != "" && t.botOf[role] == bot
}

func (t *atlas) roleName(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.roles[t.guildOf[id]][id]
}

// hasRole says whether a guild has a role; known is false where its roles were
// never told.
func (t *atlas) hasRole(guild, id string) (has, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names, known := t.roles[guild]
	_, has = names[id]
	return has, known
}

// busy lists the channels of guilds, without threads, in which something was
// written after a message, the latest first.
func (t *atlas) busy(after string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []channel
	for _, c := range t.channels {
		if c.GuildID != "" && !c.thread() && snowflake(c.Last) > snowflake(after) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(x, y channel) int { return int(snowflake(y.Last)>>22 - snowflake(x.Last)>>22) })
	var out []string
	for _, c := range found {
		out = append(out, c.ID)
	}
	return out
}

// draws says whether an event changes the atlas, and takes it in. These come in
// order, before any event that needs them.
func (t *atlas) draws(kind string, data json.RawMessage) (bool, error) {
	switch kind {
	case "GUILD_CREATE":
		var g guild
		if err := decode(data, &g); err != nil {
			return true, err
		}
		if g.ID != "" && !g.Unavailable { // one in an outage is told of with nothing in it
			t.putGuild(g)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var c channel
		if err := decode(data, &c); err != nil {
			return true, err
		}
		if c.ID != "" && (!c.thread() || c.ParentID != "") {
			t.put(c)
		}
	case "GUILD_DELETE":
		var g guild
		if err := decode(data, &g); err != nil {
			return true, err
		}
		if !g.Unavailable { // else it comes back
			t.dropGuild(g.ID)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var c channel
		if err := decode(data, &c); err != nil {
			return true, err
		}
		t.drop(c.ID)
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var e struct {
			GuildID string `json:"guild_id"`
			RoleID  string `json:"role_id"`
			Role    role   `json:"role"`
		}
		if err := decode(data, &e); err != nil {
			return true, err
		}
		gone := kind == "GUILD_ROLE_DELETE"
		if gone {
			e.Role.ID = e.RoleID
		}
		t.unstand(e.GuildID, e.Role.ID)
		t.putRole(e.GuildID, e.Role, gone)
	case "GUILD_MEMBER_UPDATE":
		var m member
		if err := decode(data, &m); err != nil {
			return true, err
		}
		if m.User != nil && m.User.ID == t.self() {
			t.unstand(m.GuildID, "")
		}
	case "THREAD_LIST_SYNC":
		var g guild
		if err := decode(data, &g); err != nil {
			return true, err
		}
		for _, c := range g.Threads {
			t.put(c)
		}
	default:
		return false, nil
	}
	return true, nil
}

// learn asks for the roles of a guild that was never told of: a session that goes
// on from another process tells of changes only.
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
	return c, nil
}
