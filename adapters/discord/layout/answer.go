package layout

import (
	"regexp"
	"strings"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
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

// SummonsParts writes a text that calls people to an approval, whose card it answers,
// or to a question that it asks them.
// It rings with those who may decide, unless nobody is to be mentioned.
func SummonsParts(m front.Message) []Part {
	s := m.Text.Summons
	if s.Quiet {
		return AnswerMessages(m.Text)
	}
	head := front.List(m.Calls, 300) + "\n"
	parts := messages(m.Text, MostContent-markdown.UTF16(head))
	first := &parts[0]
	first.Content = strings.TrimSpace(head + first.Content)
	first.Pings = Deciders(&chat.Approval{Approvers: s.Approvers, Requester: s.Requester, Exclude: s.Exclude})
	first.Silent = false
	return parts
}

// An answer that Discord's filters block goes another way, where
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
