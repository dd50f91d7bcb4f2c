package dialect

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"nod/chat/inbound"
)

// Discord writes mentions, emoji, times and commands in angle brackets
// (https://discord.com/developers/docs/reference#message-formatting). This file
// makes them words.

// Words finds the names for ids; a nil function knows none.
type Words struct {
	Self    string                 // the bot's user id
	Stands  func(role string) bool // for the bot
	User    func(id string) string
	Role    func(id string) string
	Channel func(id string) string
}

var (
	token   = regexp.MustCompile(`<(@[!&]?|#)(\d{1,20})>|<a?:(\w{1,32}):\d{1,20}>|<t:(-?\d{1,15})(?::[tTdDfFRsS])?>|</([^:<>\n]{1,100}):\d{1,20}>`)
	mention = regexp.MustCompile(`<@[!&]?(\d{1,20})>`)
)

// Readable makes Discord's markup readable. The bot's own mention is dropped
// where a text begins or ends with it, which is how it is called.
func (w Words) Readable(text string) string {
	text = inbound.Uncalled(strings.ToValidUTF8(text, "\uFFFD"), mention, w.me)
	return inbound.Readable(text, token, func(s string) string { return s }, w.word)
}

// me says whether an id of a person or a role means the bot.
func (w Words) me(id string) bool { return id == w.Self || w.Stands != nil && w.Stands(id) }

// word reads one piece of markup by its parts.
func (w Words) word(part func(int) string) string {
	id := part(2)
	switch part(1) {
	case "@", "@!":
		return "@" + inbound.Named(w.User, id, "")
	case "@&":
		return "@" + inbound.Named(w.Role, id, "")
	case "#":
		return "#" + inbound.Named(w.Channel, id, "")
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
