package fakediscord

// Permission bits: https://discord.com/developers/docs/topics/permissions
const (
	Administrator         int64 = 1 << 3
	AddReactions          int64 = 1 << 6
	ViewChannel           int64 = 1 << 10
	SendMessages          int64 = 1 << 11
	ManageMessages        int64 = 1 << 13
	EmbedLinks            int64 = 1 << 14
	AttachFiles           int64 = 1 << 15
	ReadMessageHistory    int64 = 1 << 16
	MentionEveryone       int64 = 1 << 17
	ManageThreads         int64 = 1 << 34
	CreatePublicThreads   int64 = 1 << 35
	SendMessagesInThreads int64 = 1 << 38
	Connect               int64 = 1 << 20

	// Usual is what a bot that talks in threads asks for.
	Usual = ViewChannel | SendMessages | SendMessagesInThreads | CreatePublicThreads |
		ReadMessageHistory | AddReactions | AttachFiles | EmbedLinks
	all int64 = 1<<53 - 1
)

// everyday are the permissions of @everyone in a new guild. Writing is left to roles,
// so that the bot's own role decides.
const everyday = ViewChannel | ReadMessageHistory

// permissions tells what a user may do in a channel, by the documented order:
// the guild's roles, then the overwrites of @everyone, of roles, of the member.
func permissions(c *channel, u *user) int64 {
	g := c.guild
	if g == nil {
		return all
	}
	p := guildPermissions(g, u)
	if p == all || p == 0 {
		return p
	}
	m := g.members[u.id]
	var allow, deny int64
	for _, o := range c.ground().overwrites {
		if o.id == g.id {
			p = p&^o.deny | o.allow
		}
		if !o.person && has(m.roles, o.id) {
			allow, deny = allow|o.allow, deny|o.deny
		}
	}
	p = p&^deny | allow
	for _, o := range c.ground().overwrites {
		if o.person && o.id == u.id {
			p = p&^o.deny | o.allow
		}
	}
	if p&ViewChannel == 0 || c.ground().kind == voiceChannel && p&Connect == 0 {
		return 0
	}
	return p
}

// guildPermissions tells what a user's roles allow, before any channel has its
// say.
func guildPermissions(g *guild, u *user) int64 {
	m := g.members[u.id]
	if m == nil {
		return 0
	}
	var p int64
	for _, r := range g.roles {
		if r.id == g.id || has(m.roles, r.id) {
			p |= r.permissions
		}
	}
	if p&Administrator != 0 || g.owner == u.id {
		return all
	}
	return p
}

// sees tells whether a user gets to know of a channel at all.
func sees(c *channel, u *user) bool {
	if c.guild == nil {
		return c.recipient == u || u.bot
	}
	if permissions(c, u)&ViewChannel == 0 {
		return false
	}
	return c.kind != privateThread || has(c.members, u.id) || permissions(c, u)&ManageThreads != 0
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
