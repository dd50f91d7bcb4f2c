package chat

import (
	_ "embed" // the table of emoji
	"strings"
	"unicode"
)

// Emoji that mean something by themselves, in normal form.
const (
	EmojiStop  = "🛑"
	EmojiSeen  = "👀"
	EmojiRetry = "🔄"
	EmojiMute  = "🔇"
	EmojiGood  = "👍" // of an answer
	EmojiBad   = "👎"
)

// emojiTable has a line for every emoji that Slack shows: the character in
// normal form, the name that Slack prefers, and its other names. It is made from
// emoji-datasource 16.0.0 (https://github.com/iamcal/emoji-data, MIT), the data
// that Slack's own names come from.
//
//go:embed emoji.txt
var emojiTable string

// emojiNamed finds the character with a name; "" if there is none. It searches the
// plain table: it is small, and most programs ask it a few times.
func emojiNamed(name string) string {
	for _, end := range []string{"\n", " "} {
		if at := strings.Index(emojiTable, " "+name+end); at >= 0 {
			line := emojiTable[strings.LastIndexByte(emojiTable[:at+1], '\n')+1:]
			char, _, _ := strings.Cut(line, " ")
			return char
		}
	}
	return ""
}

// NormalEmoji gives the one form in which two writings of an emoji compare
// equal: Slack's name (`+1`, `:thumbsup:`, `+1::skin-tone-2`) becomes the
// character, and skin tones and variation selectors are dropped. An unknown
// name, such as a workspace's own emoji, stays a name without colons.
func NormalEmoji(s string) string {
	s = strings.Trim(strings.TrimSpace(s), ":")
	if name, _, ok := strings.Cut(s, "::skin-tone-"); ok {
		s = name
	}
	if plainName(s) {
		if e := emojiNamed(s); e != "" {
			return e
		}
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\uFE0F' || r == '\uFE0E' || r >= '\U0001F3FB' && r <= '\U0001F3FF' {
			return -1
		}
		return r
	}, s)
}

// plainName says whether a text may be the name of an emoji. Names of a
// workspace's own emoji may have letters of any script.
func plainName(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_+-'", r) || r == '\uFE0F' {
			return false
		}
	}
	return s != ""
}

// SlackName gives the name by which Slack's reactions.add knows an emoji in
// normal form; a name that is already one comes back unchanged, and so does a
// character that Slack has no name for.
func SlackName(emoji string) string {
	_, after, ok := strings.Cut("\n"+emojiTable, "\n"+emoji+" ")
	if !ok || emoji == "" {
		return emoji
	}
	name, _, _ := strings.Cut(after[:strings.IndexByte(after, '\n')], " ")
	return name
}

// OnSlack says whether people can react with an emoji in normal form there: it
// has a name, or is one.
func OnSlack(emoji string) bool { return plainName(SlackName(emoji)) }
