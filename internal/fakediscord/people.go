package fakediscord

import "slices"

// With holds the parts of a message besides its text.
type With struct {
	ReplyTo string   // the message that it answers
	Quiet   bool     // the answer does not ping whom it answers
	Command bool     // another bot's answer to a command; without a text it is still to come
	Forward string   // the message that it forwards
	Sticker string   // the name of a sticker
	Poll    []string // a question, and its answers
	Files   []File   // attachments
	Hook    string   // posted by a webhook of this name, not by a person
	Embeds  []any    // frames below the text, as bots and webhooks put them
	Cards   []any    // components that stand for the text
}

// Bot gives the bot's user id, which is the application's id too.
func (s *Server) Bot() string { return s.bot.id }

// AddUser adds a person; shown is the name that others see, if it is another.
func (s *Server) AddUser(name, shown string) string {
	return s.addUser(&user{name: name, shown: shown})
}

// AddBot adds another bot.
func (s *Server) AddBot(name string) string { return s.addUser(&user{name: name, bot: true}) }

func (s *Server) addUser(u *user) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.id = s.oldID()
	s.users[u.id] = u
	return u.id
}

// OwnApp makes a person the owner of the application.
func (s *Server) OwnApp(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appOwner = must(s.users, "user", user).id
}

// CloseDMs makes a person take no DMs from the bot, or take them again.
func (s *Server) CloseDMs(user string, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	must(s.users, "user", user).closed = closed
}

// AddGuild adds a guild with the bot in it, whose role has the permissions of
// Options.Invite. The first of the members owns it.
func (s *Server) AddGuild(name string, members ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &guild{id: s.oldID(), name: name, members: map[string]*member{}}
	g.roles = []*role{
		{id: g.id, name: "@everyone", permissions: everyday},
		{id: s.oldID(), name: s.bot.name, permissions: s.options.Invite, managed: true, bot: s.bot.id, position: 1},
	}
	s.guilds[g.id] = g
	s.guildOrder = append(s.guildOrder, g.id)
	s.addMember(g, s.bot)
	g.members[s.bot.id].roles = []string{g.roles[1].id}
	for i, id := range members {
		s.addMember(g, must(s.users, "user", id))
		if i == 0 {
			g.owner = id
		}
	}
	if g.owner == "" {
		g.owner = s.addOwner(g)
	}
	s.happen(event{kind: "GUILD_CREATE", guild: g, data: s.guildEvent(g, false)})
	return g.id
}

func (s *Server) addOwner(g *guild) string {
	u := &user{id: s.oldID(), name: "owner"}
	s.users[u.id] = u
	s.addMember(g, u)
	return u.id
}

// Boost changes the tier of a guild's boosts.
func (s *Server) Boost(guild string, tier int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	g.tier = tier
	s.happen(event{kind: "GUILD_UPDATE", guild: g, data: s.guildObject(g)})
}

// Join lets people into a guild.
func (s *Server) Join(guild string, users ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	for _, id := range users {
		s.addMember(g, must(s.users, "user", id))
		o := memberWithUser(g, s.users[id])
		o["guild_id"] = g.id
		s.happen(event{kind: "GUILD_MEMBER_ADD", guild: g, data: o})
	}
}

// Leave takes a person out of a guild.
func (s *Server) Leave(guild, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	delete(g.members, user)
	g.order = slices.DeleteFunc(g.order, func(id string) bool { return id == user })
	s.change()
}

// AddRole adds a role to a guild.
func (s *Server) AddRole(guild, name string, permissions int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	r := &role{id: s.oldID(), name: name, permissions: permissions, position: len(g.roles)}
	g.roles = append(g.roles, r)
	s.happen(event{kind: "GUILD_ROLE_CREATE", guild: g, data: object{"guild_id": g.id, "role": roleObject(r)}})
	return r.id
}

// Mentionable lets anybody ring with a role, as new ones do not.
func (s *Server) Mentionable(guild, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range must(s.guilds, "guild", guild).roles {
		r.mentionable = r.mentionable || r.id == role
	}
}

// BotRole is the role that the bot has of its own in a guild, and that has its
// name.
func (s *Server) BotRole(guild string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return must(s.guilds, "guild", guild).roles[1].id
}

// BotMay sets what the bot's own role allows in a guild.
func (s *Server) BotMay(guild string, permissions int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	r := g.roles[1]
	r.permissions = permissions
	s.happen(event{kind: "GUILD_ROLE_UPDATE", guild: g, data: object{"guild_id": g.id, "role": roleObject(r)}})
}

// SetRoles gives a member exactly these roles.
func (s *Server) SetRoles(guild, user string, roles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	must(g.members, "member", user).roles = slices.Clone(roles)
	o := memberWithUser(g, s.users[user])
	o["guild_id"] = g.id
	s.happen(event{kind: "GUILD_MEMBER_UPDATE", guild: g, self: user == s.bot.id, data: o})
}

// AddChannel adds a text channel to a guild.
func (s *Server) AddChannel(guild, name string) string { return s.addChannel(guild, name, textChannel) }

// AddForum adds a forum. It holds only threads, whose first message is their post.
func (s *Server) AddForum(guild, name string) string { return s.addChannel(guild, name, forumChannel) }

// AddVoice adds a voice channel. Reading its text takes the permission to connect.
func (s *Server) AddVoice(guild, name string) string { return s.addChannel(guild, name, voiceChannel) }

// AddNews adds an announcement channel.
func (s *Server) AddNews(guild, name string) string { return s.addChannel(guild, name, newsChannel) }

func (s *Server) addChannel(guild, name string, kind int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	c := &channel{id: s.oldID(), name: name, kind: kind, guild: g, created: s.now()}
	s.channels[c.id] = c
	g.channels = append(g.channels, c.id)
	s.happen(event{kind: "CHANNEL_CREATE", guild: g, channel: c, data: s.channelObject(c)})
	return c.id
}

// Overwrite changes the permissions of a role or a person in a channel.
func (s *Server) Overwrite(channel, whom string, allow, deny int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := must(s.channels, "channel", channel)
	c.overwrites = slices.DeleteFunc(c.overwrites, func(o overwrite) bool { return o.id == whom })
	c.overwrites = append(c.overwrites, overwrite{id: whom, person: s.users[whom] != nil, allow: allow, deny: deny})
	s.happen(event{kind: "CHANNEL_UPDATE", guild: c.guild, channel: c, data: s.channelObject(c)})
}

// DeleteChannel deletes a channel or a thread.
func (s *Server) DeleteChannel(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := must(s.channels, "channel", channel)
	kind := "CHANNEL_DELETE"
	if c.thread() {
		kind = "THREAD_DELETE"
	}
	s.happen(event{kind: kind, guild: c.guild, channel: c, data: s.channelObject(c)})
	delete(s.channels, c.id)
	if c.guild != nil {
		c.guild.channels = slices.DeleteFunc(c.guild.channels, func(id string) bool { return id == c.id })
	}
	s.change()
}

// DM gives the channel between a person and the bot.
func (s *Server) DM(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dm(must(s.users, "user", user)).id
}

// Archive archives a thread, or opens it again; a locked one is opened only by
// those who manage threads.
func (s *Server) Archive(thread string, archived, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := must(s.channels, "thread", thread)
	t.archived, t.locked, t.changed = archived, locked, s.now()
	s.threadEvent("THREAD_UPDATE", t)
}

// Publish lets a person begin a post in a forum, and gives its thread. The first
// message has the thread's id, and stands in it.
func (s *Server) Publish(user, forum, title, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, c := must(s.users, "user", user), must(s.channels, "channel", forum)
	t := s.newThread(s.newID(), c, u, title)
	s.threadEvent("THREAD_CREATE", t)
	m := &message{author: u, channel: t}
	m.ID, m.Content = t.id, text
	s.mention(m, nil, nil)
	s.add(m)
	return t.id
}

// Block makes AutoMod block messages of a guild with one of the words; for "" it blocks
// Discord's harmful link, anywhere.
func (s *Server) Block(guild string, words ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if guild == "" {
		s.harmful = append(s.harmful, words...)
		return
	}
	g := must(s.guilds, "guild", guild)
	g.blocked = append(g.blocked, words...)
}

// OpenThread lets a person begin a thread: from a message, or for "" on its
// own.
func (s *Server) OpenThread(user, channel, from, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, c := must(s.users, "user", user), must(s.channels, "channel", channel)
	if from != "" {
		return s.beginThread(must(s.messages, "message", from), u, name).id
	}
	t := s.newThread(s.newID(), c, u, name)
	s.threadEvent("THREAD_CREATE", t)
	m := &message{author: u, channel: c}
	m.Type, m.Content = threadCreated, name
	s.add(m)
	return t.id
}

// OpenPrivate lets a person begin a private thread with others in it.
func (s *Server) OpenPrivate(user, channel, name string, others ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, c := must(s.users, "user", user), must(s.channels, "channel", channel)
	t := s.newThread(s.newID(), c, u, name)
	t.kind = privateThread
	t.members = append(t.members, others...)
	s.threadEvent("THREAD_CREATE", t)
	return t.id
}

// Say lets a user write to a channel, and gives the message's id. Nothing that
// people do is checked.
func (s *Server) Say(user, channel, text string, with ...With) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &message{author: must(s.users, "user", user), channel: must(s.channels, "channel", channel)}
	m.Content = text
	for _, w := range with {
		s.adorn(m, w)
	}
	s.mention(m, nil, nil)
	s.add(m)
	return m.ID
}

// adorn adds the parts of a message besides its text.
func (s *Server) adorn(m *message, w With) {
	if w.ReplyTo != "" {
		to := must(s.messages, "message", w.ReplyTo)
		m.Type, m.ReplyTo = replyMessage, to.ID
		if !w.Quiet {
			s.mentionUser(m, to.author.id)
		}
	}
	if w.Command {
		m.Type = commandMessage
		if m.Content == "" && len(w.Embeds)+len(w.Cards) == 0 {
			m.Flags |= flagLoading
		}
	}
	if w.Forward != "" {
		m.forward = must(s.messages, "message", w.Forward)
	}
	if w.Sticker != "" {
		m.stickers = append(m.stickers, w.Sticker)
	}
	m.poll, m.embeds, m.components = w.Poll, w.Embeds, w.Cards
	if len(w.Cards) > 0 {
		m.Flags |= flagComponents
	}
	if w.Hook != "" {
		m.author = &user{id: s.oldID(), name: w.Hook, bot: true}
		m.hook = m.author.id
	}
	s.attach(m, w.Files)
}

// Edit lets the author change a message's text.
func (s *Server) Edit(message, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := must(s.messages, "message", message)
	past := m.Content
	m.Content, m.mentions, m.roles = text, nil, nil
	s.mention(m, nil, nil)
	s.edited(m, past)
}

// Reframe lets a bot put other frames below its message.
func (s *Server) Reframe(message string, embeds ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := must(s.messages, "message", message)
	m.embeds = embeds
	s.edited(m, m.Content)
}

// Delete deletes a message.
func (s *Server) Delete(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(must(s.messages, "message", message))
}

// Purge lets a moderator delete several messages of a channel at once.
func (s *Server) Purge(channel string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := must(s.channels, "channel", channel)
	for _, id := range ids {
		must(s.messages, "message", id).Deleted = true
	}
	s.happen(event{kind: "MESSAGE_DELETE_BULK", guild: c.guild, channel: c, data: object{
		"ids": list(ids), "channel_id": c.id, "guild_id": c.guild.id,
	}})
}

// Unfurl adds the preview of a link to a message, as Discord does on its own:
// an update that is not an edit.
func (s *Server) Unfurl(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := must(s.messages, "message", id)
	m.embeds = append(m.embeds, object{"type": "link", "title": "A page", "url": "https://example.com"})
	s.happen(event{kind: "MESSAGE_UPDATE", guild: m.channel.guild, channel: m.channel, message: m, data: s.messageEvent(m)})
}

// React lets a user react: with "✅", or "name:id" for a guild's own emoji.
func (s *Server) React(user, message, emoji string) { s.reaction(user, message, emoji, false, true) }

// Unreact takes a reaction back.
func (s *Server) Unreact(user, message, emoji string) {
	s.reaction(user, message, emoji, false, false)
}

// Burst lets a user put a super reaction.
func (s *Server) Burst(user, message, emoji string) { s.reaction(user, message, emoji, true, true) }

// Unburst takes a super reaction back.
func (s *Server) Unburst(user, message, emoji string) { s.reaction(user, message, emoji, true, false) }
