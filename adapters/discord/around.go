package discord

import (
	"fmt"
	"regexp"
	"strings"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/markdown"
)

// This file gives an answer that Discord's filters block in another way, where
// there is one: a file, which AutoMod does not read, or the same words without the
// links.

const (
	codeAutoMod  = 200000
	codeTitle    = 200001 // AutoMod blocked the name of a thread
	codeHarmful  = 240000 // a link that Discord blocks
	linkLeftOut  = "(link left out)"
	linksLeftOut = "Links are left out: Discord blocks one of them as harmful."
)

var (
	linkTo  = regexp.MustCompile(`\]\(<?https?://[^\s)>]*>?(?:\s+"[^"\n]*")?\)`)
	address = regexp.MustCompile(`(?i)<?\bhttps?://[^\s<>()\[\]]+>?`)
)

// goesAround puts another form of an answer in place of what Discord's filters
// blocked, from part n on; once, and not for what is no answer.
func (s *sending) goesAround(n int, err error) bool {
	t := s.post.Text
	if t == nil || t.Notice || s.blocked != nil {
		return false
	}
	var other []layout.Part
	switch api.Code(err) {
	case codeAutoMod:
		other = blockedAnswer(t)
	case codeHarmful:
		other = unlinked(t)
	}
	if len(other) == 0 {
		return false
	}
	s.a.log.Warn("discord's filters blocked an answer, it goes another way", "thread", s.thread.String(), "error", err)
	s.blocked, s.stands = err, nil
	s.parts = append(s.parts[:n], other...)
	return true
}

// blockedAnswer is an answer as a file, and a line that says why.
func blockedAnswer(t *chat.Text) []layout.Part {
	said := chat.Refused{Platform: "Discord", Code: fmt.Sprint(codeAutoMod), Words: api.PlainWords[codeAutoMod]}
	file := &api.Upload{Name: "answer.md", Kind: api.PlainType, Says: "The whole answer", Data: []byte(strings.ToValidUTF8(t.Markdown, "\uFFFD"))}
	return []layout.Part{{Content: said.Notice() + ". It is in the file.", File: file}}
}

// unlinked is an answer without the addresses in it; none if it has none.
func unlinked(t *chat.Text) []layout.Part {
	text := address.ReplaceAllString(linkTo.ReplaceAllString(t.Markdown, "] "+linkLeftOut), linkLeftOut)
	if text == t.Markdown {
		return nil
	}
	out := layout.AnswerMessages(&chat.Text{Markdown: markdown.Head(text, layout.MostSaid)})
	out[len(out)-1].Add(linksLeftOut)
	return out
}
