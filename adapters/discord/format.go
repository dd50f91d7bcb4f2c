package discord

import (
	"regexp"
	"strings"

	"nod/chat"
	"nod/chat/markdown"
)

// shorten cuts a text to so many units.
func shorten(s string, most int) string {
	if markdown.UTF16(s) <= most {
		return s
	}
	return markdown.Head(s, most-1) + "…"
}

// fence writes text as a code block. Discord knows only the fence of three
// backticks, so what would end it is broken up by a space without width. It takes
// no block for one that holds nothing, and then the two fences of it would begin
// and end others.
func fence(lang, text string) string {
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

// exact shows arguments so that nothing in them is hidden, and nothing in them
// ends the block they stand in: JSON can write all that in another way.
func exact(args string) string {
	return strings.ReplaceAll(chat.Exact(args), "```", `\u0060\u0060\u0060`)
}

var plainID = regexp.MustCompile(`^\d{1,20}$`)

var markup = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "ˋ", "|", `\|`, "<", `\<`, "[", `\[`, "#", `\#`, ">", `\>`)

// escape keeps a name from being markup.
func escape(s string) string { return markup.Replace(chat.Flat(s)) }

// What Discord shows as it is written: it begins with a letter, holds no marks, and
// underscores only within words, whose letters are those of English to it: between an
// underscore and an é a word begins, so that slanted text may end there.
var (
	unmarked  = regexp.MustCompile(`^\pL[\pL\pN _.,:;·'"(){}=/+%&!?$@…-]*$`)
	edgeScore = regexp.MustCompile(`[^A-Za-z0-9]_|_[^A-Za-z0-9]|_$`)
)

// verbatim keeps a line from being markup, and leaves it alone where it is none.
func verbatim(s string) string {
	if s = chat.Flat(s); unmarked.MatchString(s) && !edgeScore.MatchString(s) {
		return s
	}
	return escape(s)
}

// person mentions somebody, or names whoever can't be mentioned. Nobody is
// pinged: no message allows that.
func person(u chat.User) string {
	if plainID.MatchString(string(u.ID)) {
		return "<@" + string(u.ID) + ">"
	}
	return escape(chat.Exact(u.Display()))
}
