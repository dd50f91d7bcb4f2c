package inbound

import (
	"cmp"
	"regexp"
	"strings"
)

// Uncalled cuts off mentions of the bot at the start or end of a text, and a colon or
// comma after them: they are the call, not the message. mention matches anybody's
// mention, with the id as its first group; me says whether an id is the bot's.
func Uncalled(text string, mention *regexp.Regexp, me func(id string) bool) string {
	for {
		text = strings.TrimSpace(text)
		at := mention.FindStringSubmatchIndex(text)
		if at == nil || at[0] != 0 || !me(text[at[2]:at[3]]) {
			break
		}
		text = strings.TrimLeft(text[at[1]:], " :,\u00a0")
	}
	all := mention.FindAllStringSubmatchIndex(text, -1)
	for i := len(all) - 1; i >= 0; i-- {
		at := all[i]
		if strings.TrimSpace(text[at[1]:]) != "" || !me(text[at[2]:at[3]]) {
			break
		}
		text = text[:at[0]]
	}
	return strings.TrimSpace(text)
}

// Readable writes a text with each piece of markup as word says, which gets what the groups
// of token matched; plain writes what stands between. It is valid UTF-8.
func Readable(text string, token *regexp.Regexp, plain func(string) string, word func(group func(n int) string) string) string {
	var b strings.Builder
	for {
		at := token.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		b.WriteString(plain(text[:at[0]]))
		b.WriteString(word(func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}))
		text = text[at[1]:]
	}
	b.WriteString(plain(text))
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// Named is the name of an id, which look finds and which is better than a label: whoever
// sent the message may have chosen that. It is the id where there is neither.
func Named(look func(id string) string, id, label string) string {
	if look != nil {
		if name := look(id); name != "" {
			return name
		}
	}
	return cmp.Or(label, id)
}

// IsStop says whether a message asks the bot to stop, and nothing else.
func IsStop(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "stop") }

// IsMute says whether a message only asks the bot to be quiet in a thread, or to speak
// again. Then it is for the bot, from anybody.
func IsMute(text string) bool {
	word := strings.TrimSpace(text)
	return strings.EqualFold(word, "mute") || strings.EqualFold(word, "unmute")
}
