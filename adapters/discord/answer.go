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

// dialect writes CommonMark so that Discord draws it: tables and all code in
// blocks with the one fence that it knows, headings of the three levels that it
// has. The rest is drawn as it is, or reads well as it is.
func dialect(src string) string {
	var b strings.Builder
	done := 0
	for _, block := range markdown.Blocks(src) {
		var drawn string
		switch {
		case block.Kind == markdown.Code:
			drawn = fence(block.Lang, strings.TrimSuffix(block.Text, "\n"))
		case block.Kind == markdown.Table && block.Grid != nil:
			drawn = fence("", strings.TrimSuffix(markdown.AlignedTable(block.Grid), "\n"))
		case block.Kind == markdown.Heading && block.Level > 3:
			drawn = "**" + strings.Trim(strings.TrimSpace(src[block.Start:block.End]), "# ") + "**"
		default:
			continue
		}
		b.WriteString(src[done:block.Start])
		b.WriteString(drawn)
		done = block.End
	}
	b.WriteString(src[done:])
	return markdown.Tables(b.String(), func(g *markdown.Grid) string { // those in lists and quotes
		return fence("", strings.TrimSuffix(markdown.AlignedTable(g), "\n"))
	})
}
