package discord

import (
	"strings"

	"nod/chat"
	"nod/chat/markdown"
)

// mostParts is how many messages an answer may take. A longer one is one
// message with its beginning, and a file with all of it.
const mostParts = 3

// answerParts writes an answer or a notice as messages.
func answerParts(t *chat.Text) []part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	pieces := said(markdown.Split(dialect(md), mostContent, units))
	if len(pieces) > mostParts {
		const note = "\n\n-# The answer goes on: all of it is in the file."
		first := said(markdown.Split(dialect(md), mostContent-units(note), units))[0]
		return []part{{content: first + note, file: &upload{"answer.md", plainType, []byte(md)}}}
	}
	var out []part
	for _, p := range pieces {
		out = append(out, part{content: p})
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
