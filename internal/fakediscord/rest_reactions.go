package fakediscord

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// mostEmoji is how many different reactions a message can have.
const mostEmoji = 20

var unknownEmoji = refusal(http.StatusBadRequest, 10014, "Unknown Emoji")

// emojiOf reads the emoji of a path: Unicode, or name:id.
func emojiOf(text string) (Emoji, *apiError) {
	if name, id, ok := strings.Cut(text, ":"); ok {
		if number(id) == 0 {
			return Emoji{}, unknownEmoji
		}
		return Emoji{ID: id, Name: name}, nil
	}
	for _, r := range text {
		if r >= 0x203c || r == 0x20e3 || r == 0xa9 || r == 0xae {
			return Emoji{Name: text}, nil
		}
	}
	return Emoji{}, unknownEmoji
}

// reacted finds the message and the emoji of a request.
func (s *Server) reacted(q *request) (*message, Emoji, *apiError) {
	m, bad := s.messageOf(q, ReadMessageHistory)
	if bad != nil {
		return nil, Emoji{}, bad
	}
	e, bad := emojiOf(q.PathValue("emoji"))
	return m, e, bad
}

func (s *Server) putReaction(q *request) (any, *apiError) {
	m, e, bad := s.reacted(q)
	switch {
	case bad != nil:
		return nil, bad
	case m.channel.archived:
		return nil, threadArchived
	case m.reacted(e) == nil && permissions(m.channel, s.bot)&AddReactions == 0:
		return nil, missingPermissions
	case m.reacted(e) == nil && len(m.reactions) >= mostEmoji:
		return nil, refusal(http.StatusBadRequest, 30010, "Maximum number of reactions reached (20)")
	}
	s.react(m, s.bot, e, false)
	return nil, nil
}

func (s *Server) deleteReaction(q *request) (any, *apiError) {
	m, e, bad := s.reacted(q)
	if bad != nil {
		return nil, bad
	}
	u := s.bot
	if id := q.PathValue("user"); id != "" && id != s.bot.id {
		if u = s.users[id]; u == nil {
			return nil, refusal(http.StatusNotFound, 10013, "Unknown User")
		}
		if m.channel.guild == nil || permissions(m.channel, s.bot)&ManageMessages == 0 {
			return nil, missingPermissions
		}
	}
	s.unreact(m, u, e, false)
	s.unreact(m, u, e, true)
	return nil, nil
}

func (s *Server) clearEmoji(q *request) (any, *apiError) {
	m, e, bad := s.reacted(q)
	if bad != nil {
		return nil, bad
	}
	if m.channel.guild == nil || permissions(m.channel, s.bot)&ManageMessages == 0 {
		return nil, missingPermissions
	}
	s.clear(m, &e)
	return nil, nil
}

func (s *Server) clearAll(q *request) (any, *apiError) {
	m, bad := s.messageOf(q, ReadMessageHistory|ManageMessages)
	if bad != nil {
		return nil, bad
	}
	s.clear(m, nil)
	return nil, nil
}

// getReactions gives those who reacted, by id.
func (s *Server) getReactions(q *request) (any, *apiError) {
	m, e, bad := s.reacted(q)
	if bad != nil {
		return nil, bad
	}
	limit, bad := q.limit(25)
	if bad != nil {
		return nil, bad
	}
	kind := q.URL.Query().Get("type")
	if kind != "" && kind != "0" && kind != "1" {
		return nil, badForm("type", "BASE_TYPE_CHOICES", "Value must be one of {0, 1}.")
	}
	out := []object{}
	r := m.reacted(e)
	if r == nil {
		return out, nil
	}
	ids := slices.Clone(*r.of(kind == "1"))
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	for _, id := range ids {
		if number(id) > number(q.URL.Query().Get("after")) && len(out) < limit {
			out = append(out, userObject(s.users[id]))
		}
	}
	return out, nil
}

// react puts a reaction on a message, once.
func (s *Server) react(m *message, u *user, e Emoji, burst bool) {
	r := m.reacted(e)
	if r == nil {
		r = &reaction{emoji: e}
		m.reactions = append(m.reactions, r)
	}
	users := r.of(burst)
	if has(*users, u.id) {
		return
	}
	*users = append(*users, u.id)
	o := s.reactionEvent(m, u, e, burst)
	o["message_author_id"] = m.author.id
	if g := m.channel.guild; g != nil && g.members[u.id] != nil {
		o["member"] = memberWithUser(g, u)
	}
	if burst {
		o["burst_colors"] = []string{"#ffcc4d"}
	}
	s.happen(event{kind: "MESSAGE_REACTION_ADD", guild: m.channel.guild, channel: m.channel, data: o})
}

// unreact takes a reaction back, if it is there.
func (s *Server) unreact(m *message, u *user, e Emoji, burst bool) {
	r := m.reacted(e)
	if r == nil || !has(*r.of(burst), u.id) {
		return
	}
	users := r.of(burst)
	*users = slices.DeleteFunc(*users, func(id string) bool { return id == u.id })
	if len(r.normal)+len(r.burst) == 0 {
		m.drop(r)
	}
	o := s.reactionEvent(m, u, e, burst)
	s.happen(event{kind: "MESSAGE_REACTION_REMOVE", guild: m.channel.guild, channel: m.channel, data: o})
}

func (m *message) drop(gone *reaction) {
	m.reactions = slices.DeleteFunc(m.reactions, func(r *reaction) bool { return r == gone })
}

// clear takes all reactions away, or all with one emoji.
func (s *Server) clear(m *message, e *Emoji) {
	o := object{"channel_id": m.channel.id, "message_id": m.ID}
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
	}
	kind := "MESSAGE_REACTION_REMOVE_ALL"
	if e == nil {
		m.reactions = nil
	} else {
		kind, o["emoji"] = "MESSAGE_REACTION_REMOVE_EMOJI", emojiObject(*e)
		m.drop(m.reacted(*e))
	}
	s.happen(event{kind: kind, guild: m.channel.guild, channel: m.channel, data: o})
}

// reactionEvent has what adding and removing have in common.
func (s *Server) reactionEvent(m *message, u *user, e Emoji, burst bool) object {
	o := object{
		"user_id": u.id, "channel_id": m.channel.id, "message_id": m.ID, "emoji": emojiObject(e),
		"burst": burst, "type": 0,
	}
	if burst {
		o["type"] = 1
	}
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
	}
	return o
}
