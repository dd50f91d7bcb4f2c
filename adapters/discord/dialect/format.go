package dialect

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/inbound"
	"nod/chat/markdown"
)

// Shorten cuts a text to so many units.
func Shorten(s string, most int) string {
	if markdown.UTF16(s) <= most {
		return s
	}
	return markdown.Head(s, most-1) + "…"
}

// Fence writes text as a code block. Discord knows only the fence of three
// backticks, so what would end it is broken up by a space without width. It takes
// no block for one that holds nothing, and then the two fences of it would begin
// and end others.
func Fence(lang, text string) string {
	if !plainLang.MatchString(lang) {
		lang = ""
	}
	if strings.Trim(text, "\r\n") == "" {
		text = " "
	}
	return "```" + lang + "\n" + unfenced(text) + "\n```"
}

// unfenced is a text that ends no fence.
func unfenced(text string) string { return strings.ReplaceAll(text, "```", "`\u200b`\u200b`") }

// plainLang is what Discord takes for the name of a language.
var plainLang = regexp.MustCompile(`^[A-Za-z0-9_+\-.#]{0,30}$`)

// Exact shows arguments so that nothing in them is hidden, and nothing in them
// ends the block they stand in: JSON can write all that in another way.
func Exact(args string) string {
	return strings.ReplaceAll(chat.Exact(args), "```", `\u0060\u0060\u0060`)
}

var markup = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "ˋ", "|", `\|`, "<", `\<`, "[", `\[`, "#", `\#`, ">", `\>`)

// Escape keeps a name from being markup.
func Escape(s string) string { return markup.Replace(chat.Flat(s)) }

// Discord shows such a name as it is written: it begins with a letter, holds no marks, and
// underscores only within words, whose letters are those of English to it: between an
// underscore and an é a word begins, so that slanted text may end there.
var (
	unmarked  = regexp.MustCompile(`^\pL[\pL\pN _.,:;·'"(){}=/+%&!?$@…-]*$`)
	edgeScore = regexp.MustCompile(`[^A-Za-z0-9]_|_[^A-Za-z0-9]|_$`)
)

// Verbatim keeps a line from being markup, and leaves it alone where it is none.
func Verbatim(s string) string {
	if s = chat.Flat(s); unmarked.MatchString(s) && !edgeScore.MatchString(s) {
		return s
	}
	return Escape(s)
}

// Person mentions somebody, or names whoever can't be mentioned. Nobody is
// pinged: no message allows that.
func Person(u chat.User) string {
	if api.PlainID.MatchString(string(u.ID)) {
		return "<@" + string(u.ID) + ">"
	}
	return Escape(chat.Exact(u.Display()))
}

// Discord writes mentions, emoji, times and commands in angle brackets
// (https://discord.com/developers/docs/reference#message-formatting). Here they become words.

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
