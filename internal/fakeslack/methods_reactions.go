package fakeslack

import (
	"regexp"
	"slices"
)

// Limits of the reactions on one message.
const (
	maxEmoji     = 50 // different ones
	maxPerPerson = 23
)

// emojiName is what names of emoji look like, skin tone included.
var emojiName = regexp.MustCompile(`^[a-z0-9_+'-]+(::skin-tone-[2-6])?$`)

// reactable gives the message that a call wants to react to or look at.
func (s *Server) reactable(c *call) (*channel, *message, error) {
	if c.args["channel"] == "" || c.args["timestamp"] == "" {
		return nil, nil, breach("no_item_specified", "channel and timestamp are wanted")
	}
	ch := s.rooms.channels[c.args["channel"]]
	if ch == nil || ch.Kind != Public && !ch.has(BotUser) {
		return nil, nil, refuse("channel_not_found")
	}
	if _, ok := parseTS(c.args["timestamp"]); !ok {
		return nil, nil, breach("bad_timestamp", "%q", c.args["timestamp"])
	}
	m := ch.find(c.args["timestamp"])
	if m == nil {
		return nil, nil, refuse("message_not_found")
	}
	return ch, m, nil
}

func addReaction(s *Server, c *call) (reply, error) {
	ch, m, err := s.reactable(c)
	if err != nil {
		return nil, err
	}
	name := c.args["name"]
	switch {
	case !emojiName.MatchString(name):
		return nil, breach("invalid_name", "%q", name)
	case ch.Archived:
		return nil, refuse("is_archived")
	}
	if code := m.cannotReact(BotUser, name); code != "" {
		return nil, refuse(code)
	}
	s.react(ch, m, BotUser, name)
	return nil, nil
}

func (m *message) cannotReact(user, name string) string {
	r := m.reaction(name)
	own := 0
	for _, other := range m.reactions {
		if slices.Contains(other.users, user) {
			own++
		}
	}
	switch {
	case r != nil && slices.Contains(r.users, user):
		return "already_reacted"
	case r == nil && len(m.reactions) >= maxEmoji:
		return "too_many_emoji"
	case own >= maxPerPerson:
		return "too_many_reactions"
	}
	return ""
}

// react puts a reaction on a message and lets everybody know.
func (s *Server) react(ch *channel, m *message, user, name string) {
	r := m.reaction(name)
	if r == nil {
		r = &reaction{name: name}
		m.reactions = append(m.reactions, r)
	}
	r.users = append(r.users, user)
	s.emitReaction("reaction_added", ch, m, user, name)
}

func removeReaction(s *Server, c *call) (reply, error) {
	ch, m, err := s.reactable(c)
	if err != nil {
		return nil, err
	}
	if !s.unreact(ch, m, BotUser, c.args["name"]) {
		return nil, refuse("no_reaction")
	}
	return nil, nil
}

// unreact takes a reaction back, and says whether there was one.
func (s *Server) unreact(ch *channel, m *message, user, name string) bool {
	r := m.reaction(name)
	if r == nil || !slices.Contains(r.users, user) {
		return false
	}
	r.users = slices.DeleteFunc(r.users, func(u string) bool { return u == user })
	if len(r.users) == 0 {
		m.reactions = slices.DeleteFunc(m.reactions, func(o *reaction) bool { return o == r })
	}
	s.emitReaction("reaction_removed", ch, m, user, name)
	return true
}

// getReactions lists at most a few people of each reaction, as Slack does, unless the
// whole list is asked for; the count is always that of all.
func getReactions(s *Server, c *call) (reply, error) {
	ch, m, err := s.reactable(c)
	if err != nil {
		return nil, err
	}
	if !ch.has(BotUser) {
		return nil, refuse("message_not_found")
	}
	out := s.render(ch, m, true)
	out["permalink"] = permalink(ch, m)
	if !c.args.truth("full") {
		out["reactions"] = shortened(m)
	}
	return reply{"type": "message", "channel": ch.ID, "message": out}, nil
}

// someUsers is how many people a reaction names where not all are asked for.
const someUsers = 3

func shortened(m *message) []reply {
	var out []reply
	for _, r := range m.reactions {
		users := slices.Clone(r.users)
		if i := slices.Index(users, BotUser); i >= 0 { // the caller is always among them
			users[0], users[i] = users[i], users[0]
		}
		out = append(out, reply{"name": r.name, "users": users[:min(len(users), someUsers)], "count": len(users)})
	}
	return out
}

func listReactions(s *Server, c *call) (reply, error) {
	who := c.args["user"]
	if who == "" {
		who = BotUser
	}
	if s.people.users[who] == nil {
		return nil, refuse("user_not_found")
	}
	items := []reply{}
	for _, id := range s.rooms.order {
		ch := s.rooms.channels[id]
		for _, m := range ch.all {
			reacted := slices.ContainsFunc(m.reactions, func(r *reaction) bool { return slices.Contains(r.users, who) })
			if ch.has(BotUser) && !m.deleted && reacted {
				items = append(items, reply{"type": "message", "channel": ch.ID, "message": s.render(ch, m, true)})
			}
		}
	}
	slices.Reverse(items)
	page, next, err := paged(items, c.args, 100, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"items": page, "response_metadata": cursorTo(next)}, nil
}
