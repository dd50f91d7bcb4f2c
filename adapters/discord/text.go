package discord

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"nod/adapters/discord/api"
	"nod/chat/inbound"
)

// Discord writes mentions, emoji, times and commands in angle brackets
// (https://discord.com/developers/docs/reference#message-formatting). This file
// makes them words.

// words finds the names for ids.
type words struct {
	self    string                 // the bot's user id
	stands  func(role string) bool // for the bot
	user    func(id string) string
	role    func(id string) string
	channel func(id string) string
}

var (
	token   = regexp.MustCompile(`<(@[!&]?|#)(\d{1,20})>|<a?:(\w{1,32}):\d{1,20}>|<t:(-?\d{1,15})(?::[tTdDfFRsS])?>|</([^:<>\n]{1,100}):\d{1,20}>`)
	mention = regexp.MustCompile(`<@[!&]?(\d{1,20})>`)
)

// readable makes Discord's markup readable. The bot's own mention is dropped
// where a text begins or ends with it, which is how it is called.
func (w words) readable(text string) string {
	text = inbound.Uncalled(strings.ToValidUTF8(text, "\uFFFD"), mention, w.me)
	return inbound.Readable(text, token, func(s string) string { return s }, w.word)
}

// me says whether an id of a person or a role means the bot.
func (w words) me(id string) bool { return id == w.self || w.stands != nil && w.stands(id) }

// word reads one piece of markup by its parts.
func (w words) word(part func(int) string) string {
	id := part(2)
	switch part(1) {
	case "@", "@!":
		return "@" + named(w.user, id)
	case "@&":
		return "@" + named(w.role, id)
	case "#":
		return "#" + named(w.channel, id)
	}
	if name := part(3); name != "" {
		return ":" + name + ":"
	}
	if stamp := part(4); stamp != "" {
		if n, err := strconv.ParseInt(stamp, 10, 64); err == nil && n >= 0 && n < 1<<37 {
			return time.Unix(n, 0).UTC().Format("2006-01-02 15:04 UTC")
		}
		return stamp
	}
	return "/" + part(5)
}

func named(look func(string) string, id string) string {
	if look != nil {
		if name := look(id); name != "" {
			return name
		}
	}
	return id
}

// words are the names that a message brings along, and those of the guild.
func (a *Adapter) words(m api.Message) words {
	me := a.self.who()
	return words{
		self:   me.ID,
		stands: a.atlas.Stands,
		user: func(id string) string {
			for _, u := range m.Mentions {
				if u.ID == id {
					return api.UserOf(u.User, u.Member).Name
				}
			}
			if id == me.ID {
				return me.Username
			}
			return ""
		},
		role:    func(id string) string { return a.atlas.RoleName(m.GuildID, id) },
		channel: a.atlas.ChannelName,
	}
}
