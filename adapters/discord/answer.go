package discord

import (
	"strings"

	"nod/chat"
	"nod/chat/markdown"
)

// mostSaid is how long an answer may be that is messages. A longer one is one
// message with its beginning, and a file with all of it.
const mostSaid = 12_000

// answerParts writes an answer or a notice as messages.
func answerParts(t *chat.Text) []part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	if units(md) <= mostSaid {
		return answerMessages(t)
	}
	const note = "\n\n-# The answer goes on: all of it is in the file."
	first := said(markdown.Split(dialect(md), mostContent-units(note), units))[0]
	return []part{{content: first + note, file: &upload{"answer.md", plainType, "The whole answer", []byte(md)}}}
}

// answerMessages writes an answer as so many messages as it takes.
func answerMessages(t *chat.Text) []part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	var out []part
	for _, p := range said(markdown.Split(dialect(md), mostContent, units)) {
		out = append(out, part{content: p, silent: t.Notice})
	}
	return out
}

// said drops what Discord would take for an empty message.
func said(pieces []string) []string {
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
