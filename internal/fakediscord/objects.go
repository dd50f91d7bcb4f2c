package fakediscord

import (
	"strconv"
	"time"
)

// The functions here give things the JSON shape that Discord documents. They
// build everything anew, so that a caller may change what it gets.

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

// list gives an empty array instead of null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func userObject(u *user) object {
	o := object{
		"id": u.id, "username": u.name, "global_name": nil, "discriminator": "0", "avatar": nil,
		"public_flags": 0, "flags": 0, "primary_guild": nil,
	}
	if u.shown != "" {
		o["global_name"] = u.shown
	}
	if u.bot {
		o["bot"] = true
	}
	return o
}

// memberObject leaves the user out, as events do that have it already.
func memberObject(m *member) object {
	return object{
		"avatar": nil, "banner": nil, "communication_disabled_until": nil, "flags": 0, "joined_at": stamp(m.joined),
		"nick": nil, "pending": false, "premium_since": nil, "roles": list(append([]string{}, m.roles...)),
		"mute": false, "deaf": false,
	}
}

func memberWithUser(g *guild, u *user) object {
	o := memberObject(g.members[u.id])
	o["user"] = userObject(u)
	return o
}

func roleObject(r *role) object {
	o := object{
		"id": r.id, "name": r.name, "permissions": strconv.FormatInt(r.permissions, 10), "position": r.position,
		"color": 0, "colors": object{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
		"hoist": false, "managed": r.managed, "mentionable": r.mentionable, "icon": nil, "unicode_emoji": nil, "flags": 0,
	}
	if r.bot != "" {
		o["tags"] = object{"bot_id": r.bot}
	}
	return o
}

func (w *world) channelObject(c *channel) object {
	o := object{"id": c.id, "type": c.kind, "flags": 0}
	if n := len(c.messages); n > 0 {
		o["last_message_id"] = c.messages[n-1].ID
	}
	switch {
	case c.kind == dmChannel:
		o["recipients"] = []object{userObject(c.recipient)}
	case c.thread():
		w.addThread(o, c)
	default:
		o["guild_id"], o["name"], o["position"], o["nsfw"] = c.guild.id, c.name, 0, false
		o["parent_id"], o["topic"], o["rate_limit_per_user"] = nil, nil, 0
		o["permission_overwrites"] = overwriteObjects(c)
	}
	return o
}

func overwriteObjects(c *channel) []object {
	out := []object{}
	for _, w := range c.overwrites {
		kind := 0
		if w.person {
			kind = 1
		}
		out = append(out, object{
			"id": w.id, "type": kind,
			"allow": strconv.FormatInt(w.allow, 10), "deny": strconv.FormatInt(w.deny, 10),
		})
	}
	return out
}

func (w *world) addThread(o object, c *channel) {
	o["guild_id"], o["parent_id"], o["name"], o["owner_id"] = c.guild.id, c.parent.id, c.name, c.owner
	n := 0
	for _, m := range c.live() {
		if m.Type != threadStarter {
			n++
		}
	}
	o["message_count"], o["total_message_sent"], o["member_count"] = n, n, len(c.members)
	o["rate_limit_per_user"] = 0
	o["thread_metadata"] = object{
		"archived": c.archived, "locked": c.locked, "auto_archive_duration": c.archive,
		"archive_timestamp": stamp(c.changed), "create_timestamp": stamp(c.created),
	}
	if has(c.members, w.bot.id) {
		o["member"] = threadMemberObject(c, w.bot.id)
	}
}

func threadMemberObject(c *channel, user string) object {
	return object{"id": c.id, "user_id": user, "join_timestamp": stamp(c.created), "flags": 0}
}

func emojiObject(e Emoji) object {
	o := object{"id": nil, "name": e.Name}
	if e.ID != "" {
		o["id"] = e.ID
	}
	return o
}

func (w *world) reactionObjects(m *message) []object {
	var out []object
	for _, r := range m.reactions {
		out = append(out, object{
			"emoji": emojiObject(r.emoji), "count": len(r.normal) + len(r.burst),
			"count_details": object{"burst": len(r.burst), "normal": len(r.normal)},
			"burst_colors":  []string{}, "me": has(r.normal, w.bot.id), "me_burst": has(r.burst, w.bot.id),
		})
	}
	return out
}

func attachmentObjects(m *message) []object {
	out := []object{}
	for _, f := range m.Files {
		o := object{
			"id": f.ID, "filename": f.Name, "size": len(f.Data), "content_type": f.Type,
			"url": f.URL, "proxy_url": f.URL,
		}
		if m.Reader != "" {
			o["ephemeral"] = true
		}
		if f.Seconds > 0 {
			o["duration_secs"], o["waveform"] = f.Seconds, "AAAA"
		}
		out = append(out, o)
	}
	return out
}

// bodyObject holds a person's text and files, and is the part that a forward copies.
func (w *world) bodyObject(m *message) object {
	mentions := []object{}
	for _, id := range m.mentions {
		mentions = append(mentions, userObject(w.users[id]))
	}
	o := object{
		"type": m.Type, "content": m.Content, "mentions": mentions, "mention_roles": list(m.roles),
		"attachments": attachmentObjects(m), "embeds": list(m.embeds), "components": list(m.components),
		"timestamp": stamp(m.Created), "edited_timestamp": nil, "flags": m.Flags,
	}
	if !m.Edited.IsZero() {
		o["edited_timestamp"] = stamp(m.Edited)
	}
	return o
}

// messageObject is a message as REST gives it, with the message that it
// answers.
func (w *world) messageObject(m *message) object {
	o := w.flatMessage(m)
	if m.ReplyTo != "" {
		o["referenced_message"] = nil
		if r := w.messages[m.ReplyTo]; r != nil && !r.Deleted {
			o["referenced_message"] = w.flatMessage(r)
		}
	}
	return o
}

func (w *world) flatMessage(m *message) object {
	o := w.bodyObject(m)
	o["id"], o["channel_id"], o["author"] = m.ID, m.channel.id, userObject(m.author)
	o["pinned"], o["tts"], o["mention_everyone"] = false, false, m.everyone
	if m.hook != "" {
		o["webhook_id"] = m.hook
	}
	if m.author == w.bot {
		o["application_id"] = w.app.id
	}
	if m.reactions != nil {
		o["reactions"] = w.reactionObjects(m)
	}
	if len(m.stickers) > 0 {
		var items []object
		for _, name := range m.stickers {
			items = append(items, object{"id": "1", "name": name, "format_type": 1})
		}
		o["sticker_items"] = items
	}
	if len(m.poll) > 0 {
		var answers []object
		for i, text := range m.poll[1:] {
			answers = append(answers, object{"answer_id": i + 1, "poll_media": object{"text": text}})
		}
		o["poll"] = object{"question": object{"text": m.poll[0]}, "answers": answers, "expiry": nil, "allow_multiselect": false, "layout_type": 1}
	}
	if m.thread != nil {
		o["thread"] = w.channelObject(m.thread)
	}
	if m.ReplyTo != "" {
		o["message_reference"] = w.reference(0, m.ReplyTo, m.channel)
	}
	if m.forward != nil {
		o["message_reference"] = w.reference(1, m.forward.ID, m.forward.channel)
		o["message_snapshots"] = []object{{"message": w.bodyObject(m.forward)}}
	}
	if m.began != nil {
		o["interaction_metadata"] = m.began.metadata()
	}
	return o
}

// reference points to a message. Its own channel counts where it is known: the
// first message of a thread points out of the thread.
func (w *world) reference(kind int, id string, from *channel) object {
	if m := w.messages[id]; m != nil {
		from = m.channel
	}
	o := object{"type": kind, "message_id": id, "channel_id": from.id}
	if from.guild != nil {
		o["guild_id"] = from.guild.id
	}
	return o
}

// messageEvent is a message as MESSAGE_CREATE and MESSAGE_UPDATE have it: with
// the guild and the author's membership, and the nonce.
func (w *world) messageEvent(m *message) object {
	o := w.messageObject(m)
	o["channel_type"] = m.channel.kind
	if m.Nonce != "" {
		o["nonce"] = m.Nonce
	}
	g := m.channel.guild
	if g == nil {
		return o
	}
	o["guild_id"] = g.id
	if in := g.members[m.author.id]; in != nil && (m.hook == "" || m.author == w.bot) {
		o["member"] = memberObject(in)
	}
	mentions := []object{}
	for _, id := range m.mentions {
		u := userObject(w.users[id])
		if in := g.members[id]; in != nil {
			u["member"] = memberObject(in)
		}
		mentions = append(mentions, u)
	}
	o["mentions"] = mentions
	return o
}

// hide empties the parts that only the MESSAGE_CONTENT intent shows:
// https://discord.com/developers/docs/events/gateway#message-content-intent
func hide(o object) {
	o["content"], o["attachments"], o["embeds"], o["components"] = "", []object{}, []object{}, []object{}
	delete(o, "poll")
	delete(o, "message_snapshots")
}

// readable tells whether the bot may read a message without that intent: its
// own, DMs, and those that mention it.
func (w *world) readable(m *message) bool {
	return m.author == w.bot || m.channel.guild == nil || has(m.mentions, w.bot.id)
}

// shield hides the parts that the bot may not read, in a message and in the answered
// one.
func (w *world) shield(o object, m *message) object {
	if !w.readable(m) {
		hide(o)
	}
	if r, ok := o["referenced_message"].(object); ok && !w.readable(w.messages[m.ReplyTo]) {
		hide(r)
	}
	return o
}
