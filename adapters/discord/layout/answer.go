package layout

import (
	"strings"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/markdown"
)

// MostSaid is how long an answer may be that is messages. A longer one is one
// message with its beginning, and a file with all of it.
const MostSaid = 12_000

// AnswerParts writes an answer or a notice as messages.
func AnswerParts(t *chat.Text) []Part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	drawn := dialect.Write(md)
	switch short := Said(markdown.Split(drawn, MostContent, markdown.UTF16)); {
	case len(short) == 1:
		return []Part{{Content: short[0], Silent: t.Notice}}
	case markdown.UTF16(md) <= MostSaid:
		var out []Part // cards, which take twice as much as other messages
		for _, p := range Said(markdown.Split(drawn, MostWide, markdown.UTF16)) {
			out = append(out, Part{Card: []string{p}, Wide: true, Silent: t.Notice})
		}
		return out
	}
	const note = "\n\n-# The answer goes on: all of it is in the file."
	first := Said(markdown.Split(drawn, MostContent-markdown.UTF16(note), markdown.UTF16))[0]
	return []Part{{Content: first + note, File: wholeAnswer(md)}}
}

func wholeAnswer(md string) *api.Upload {
	return &api.Upload{Name: "answer.md", Kind: api.PlainType, Says: "The whole answer", Data: []byte(md)}
}

// MostWide is the longest text of a message that is a card.
const MostWide = 4000

// AnswerMessages writes an answer as so many messages as it takes.
func AnswerMessages(t *chat.Text) []Part { return messages(t, MostContent) }

// messages writes a text as messages of at most so many units.
func messages(t *chat.Text, most int) []Part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	var out []Part
	for _, p := range Said(markdown.Split(dialect.Write(md), most, markdown.UTF16)) {
		out = append(out, Part{Content: p, Silent: t.Notice})
	}
	return out
}

// Said drops what Discord would take for an empty message.
func Said(pieces []string) []string {
	var out []string
	for _, p := range pieces {
		if strings.Trim(p, " \t\r\n\u200b\u2060\ufeff\u00a0") != "" {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return []string{"(no text)"}
	}
	return out
}
