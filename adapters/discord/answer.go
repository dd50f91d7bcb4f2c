package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
)

// mostSaid is how long an answer may be that is messages. A longer one is one
// message with its beginning, and a file with all of it.
const mostSaid = 12_000

// answerParts writes an answer or a notice as messages.
func answerParts(t *chat.Text) []part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	drawn := dialect.Write(md)
	switch short := said(markdown.Split(drawn, mostContent, markdown.UTF16)); {
	case len(short) == 1:
		return []part{{content: short[0], silent: t.Notice}}
	case markdown.UTF16(md) <= mostSaid:
		return wideMessages(drawn, t.Notice)
	}
	const note = "\n\n-# The answer goes on: all of it is in the file."
	first := said(markdown.Split(drawn, mostContent-markdown.UTF16(note), markdown.UTF16))[0]
	return []part{{content: first + note, file: &api.Upload{Name: "answer.md", Kind: api.PlainType, Says: "The whole answer", Data: []byte(md)}}}
}

// mostWide is the longest text of a message that is a card.
const mostWide = 4000

// wideMessages writes an answer, as Discord draws it, as messages that take twice as
// much as others.
func wideMessages(drawn string, silent bool) []part {
	var out []part
	for _, p := range said(markdown.Split(drawn, mostWide, markdown.UTF16)) {
		out = append(out, part{card: []string{p}, wide: true, silent: silent})
	}
	return out
}

// narrow writes what is left of an answer, from part n on, as messages that every
// client shows, with the same lines below and the same pings.
func (s *sending) narrow(n int) {
	last := s.parts[len(s.parts)-1]
	out := answerMessages(s.post.Text)
	if n > 0 {
		out = nil
		for _, p := range s.parts[n:] {
			for _, text := range said(markdown.Split(p.card[0], mostContent, markdown.UTF16)) {
				out = append(out, part{content: text, silent: p.silent})
			}
		}
	} else if end := &out[len(out)-1]; markdown.UTF16(end.content)+markdown.UTF16(below.FindString(last.card[0])) <= mostContent {
		end.content += below.FindString(last.card[0])
	}
	out[0].silent, out[len(out)-1].pings = s.parts[n].silent, last.pings
	s.parts = append(s.parts[:n], out...)
}

// answerMessages writes an answer as so many messages as it takes.
func answerMessages(t *chat.Text) []part { return messages(t, mostContent) }

// messages writes a text as messages of at most so many units.
func messages(t *chat.Text, most int) []part {
	md := strings.ToValidUTF8(t.Markdown, "\uFFFD")
	var out []part
	for _, p := range said(markdown.Split(dialect.Write(md), most, markdown.UTF16)) {
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

// under are the buttons under part n of a post: under the last message of an
// answer, and of nothing else.
func (s *sending) under(n int) []discordgo.MessageComponent {
	if s.post.Text == nil || s.post.Text.Notice || n != len(s.parts)-1 {
		return nil
	}
	about := front.Click{Thread: s.thread, On: chat.MessageRef{ID: s.first}} // "": the message with the button
	id := func(kind string) string { return idOf(kind, about) }
	var out []discordgo.MessageComponent
	for _, b := range []struct{ kind, emoji string }{{goodButton, chat.EmojiGood}, {badButton, chat.EmojiBad}} {
		out = append(out, discordgo.Button{
			Emoji: &discordgo.ComponentEmoji{Name: b.emoji}, Style: discordgo.SecondaryButton, CustomID: id(b.kind),
		})
	}
	if s.a.o.Retries {
		out = append(out, discordgo.Button{Label: "Try again", Style: discordgo.SecondaryButton, CustomID: id(retryButton)})
	}
	return out
}
