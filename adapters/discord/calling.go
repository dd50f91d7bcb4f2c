package discord

import (
	"regexp"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/front"
)

// This file tells people how to go on: what calls the bot depends on the
// configuration and on what Discord lets it read, which nobody can see.

// Calling says how people call the bot, for its help.
func (a *Adapter) Calling() string {
	switch a.follow() {
	case front.FollowThread:
		return "In a thread that I am in nobody has to mention me; elsewhere in a server, mention me or use `/ask`."
	case front.FollowCallers:
		return "Whoever has called me in a thread needs no new mention there; elsewhere in a server, mention me or use `/ask`."
	}
	return "In a server I read only messages that mention me by name: put that before the words below too. `/ask`, `/stop`, the *Stop* button and 🛑 need no mention, and neither do direct messages."
}

// The line below the first answer in a thread.
const (
	goOnByAll     = "To go on, write here: nobody has to mention me in this thread."
	goOnByCallers = "To go on, write here: whoever has called me in this thread need not mention me again."
	goOnByMention = "To go on, mention me: I read only messages that do."
)

func (a *Adapter) goOn() string {
	switch a.follow() {
	case front.FollowThread:
		return goOnByAll
	case front.FollowCallers:
		return goOnByCallers
	}
	return goOnByMention
}

// hinted puts a line below the answer to the message from which a thread was made:
// that is the first answer in it.
func (s *sending) hinted() {
	p := api.PlaceOf(s.thread)
	if s.post.Text == nil || s.post.Text.Notice || p.Direct() || s.home.replyTo != "" || s.post.ReplyTo.ID != p.Thread {
		return
	}
	s.parts[len(s.parts)-1].Add(s.a.goOn())
}

// below matches the small lines below an answer: another attempt at it may have
// others.
var below = regexp.MustCompile(`(\n-# (?:<@\d{1,20}>|` + strings.Join([]string{
	regexp.QuoteMeta(goOnByAll), regexp.QuoteMeta(goOnByCallers), regexp.QuoteMeta(goOnByMention),
}, "|") + `))+$`)

// bare is the text of an answer without the lines below it.
func bare(content string) string { return chat.Flat(below.ReplaceAllString(content, "")) }
