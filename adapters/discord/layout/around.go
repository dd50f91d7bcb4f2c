package layout

import (
	"regexp"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/markdown"
)

// This file gives an answer that Discord's filters block in another way, where
// there is one: a file, which AutoMod does not read, or the same words without the
// links.

const (
	linkLeftOut  = "(link left out)"
	linksLeftOut = "Links are left out: Discord blocks one of them as harmful."
)

var (
	linkTo  = regexp.MustCompile(`\]\(<?https?://[^\s)>]*>?(?:\s+"[^"\n]*")?\)`)
	address = regexp.MustCompile(`(?i)<?\bhttps?://[^\s<>()\[\]]+>?`)
)

// Around gives another form of an answer that a filter blocked; nil where there is none.
func Around(code int, t *chat.Text) []Part {
	switch code {
	case api.CodeAutoMod:
		said := api.SaidBy(&api.Error{Code: code}).Notice()
		return []Part{{Content: said + ". It is in the file.", File: wholeAnswer(strings.ToValidUTF8(t.Markdown, "\uFFFD"))}}
	case api.CodeHarmful:
		return unlinked(t)
	}
	return nil
}

// unlinked is an answer without the addresses in it; none if it has none.
func unlinked(t *chat.Text) []Part {
	text := address.ReplaceAllString(linkTo.ReplaceAllString(t.Markdown, "] "+linkLeftOut), linkLeftOut)
	if text == t.Markdown {
		return nil
	}
	out := AnswerMessages(&chat.Text{Markdown: markdown.Head(text, MostSaid)})
	out[len(out)-1].Add(linksLeftOut)
	return out
}
