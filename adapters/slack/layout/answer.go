// Package layout lays out posts as Slack messages, in blocks and in plainer forms. It sends
// nothing.
package layout

import (
	"cmp"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// MostReply is what a message of an answer has: less than all blocks of one may
// have together.
const MostReply = 10_000

// An answer of more than mostReplies messages is a file besides its beginning;
// where files are refused, it ends after mostPlainReplies.
const (
	MostReplies      = 4
	MostPlainReplies = 12
)

// AnswerParts writes an answer or a notice as so many messages as it takes.
// Slack draws CommonMark itself, tables too, in markdown blocks; but the language
// of code it shows as the code's first line.
func AnswerParts(t *chat.Text, c Card) []Part {
	var out []Part
	for _, src := range markdown.Split(markdown.Bare(Harmless(strings.ToValidUTF8(t.Markdown, "\uFFFD"))), MostReply, markdown.UTF16) {
		out = append(out, answerPart(src))
	}
	if len(out) == 0 {
		return []Part{{{Text: "(no text)", Plain: true}}}
	}
	out[len(out)-1] = Closed(out[len(out)-1], t, c)
	return out
}

// answerPart writes one message: as Markdown, in Slack's own markup, as text of
// that alone.
func answerPart(src string) Part {
	plain := cmp.Or(Escape(markdown.Plain(src)), "(no text)")
	text := Shorten(plain, MostFallback)
	out := Part{{Blocks: []slackgo.Block{slackgo.NewMarkdownBlock("", src)}, Text: text}}
	if blocks := sections(src); len(blocks) > 0 && len(blocks) <= mostBlocks {
		out = append(out, Form{Blocks: blocks, Text: text})
	}
	return append(out, Form{Text: cmp.Or(markdown.Styled(src, style), plain)})
}

// style is Slack's own markup
// (https://docs.slack.dev/messaging/formatting-message-text).
var style = markdown.Style{
	Escape: Escape, Strong: "*", Emph: "_", Strike: "~", Code: "`", Fence: "```",
	Link: func(label, to string) string {
		to = strings.NewReplacer("|", "%7C", ">", "%3E", "<", "%3C", " ", "%20").Replace(to)
		if to = Escape(to); label == "" || strings.HasSuffix(to, label) {
			return "<" + to + ">"
		}
		return "<" + to + "|" + strings.NewReplacer("|", "¦", "\n", " ").Replace(label) + ">"
	},
}

// sections shows Markdown in Slack's own markup, unfolded, and code and tables as
// they are.
func sections(src string) []slackgo.Block {
	var out []slackgo.Block
	var run []string
	flush := func() {
		for _, piece := range Pieces(strings.Join(run, "\n\n"), MostSection) {
			out = append(out, slackgo.NewSectionBlock(Mrkdwn(piece), nil, nil, slackgo.SectionBlockOptionExpand(true)))
		}
		run = nil
	}
	for _, b := range markdown.Blocks(src) {
		switch {
		case b.Kind == markdown.Code, b.Kind == markdown.Table && b.Grid != nil:
			flush()
			code := b.Text
			if b.Grid != nil {
				code = markdown.AlignedTable(b.Grid)
			}
			for _, piece := range Pieces(code, MostSection) {
				out = append(out, preformatted(piece))
			}
		default:
			if text := markdown.Styled(src[b.Start:b.End], style); text != "" {
				run = append(run, text)
			}
		}
	}
	flush()
	return out
}

// Pieces cuts text into lines' lengths of at most so many units. Of what is left it
// looks at no more than one piece at a time.
func Pieces(s string, most int) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; {
		cut := len(markdown.Head(s, most))
		if line := strings.LastIndexByte(s[:cut], '\n') + 1; cut < len(s) && line > cut/2 {
			cut = line
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	return out
}

// Closed puts under the last message of an answer or a notice its steps, where no reply
// shows them, and under an answer the buttons. A workspace that refuses a container gets
// the newest steps in a section, which Slack folds when it is long.
func Closed(p Part, t *chat.Text, c Card) Part {
	if t.Steps == nil {
		return buttoned(p, t, c)
	}
	room := MostReply - lengthOf(p[0].Blocks)
	out := buttoned(withSteps(p, t.Steps, c.Thread, room), t, c)
	f := out[0]
	f.Blocks = append(slices.Clone(p[0].Blocks), stepsBox(c.Thread, t.Steps, min(mostSteps, room)))
	f.Shape = "answer with steps"
	return slices.Insert(out, 0, f)
}

// withSteps puts the newest steps under each form of a message.
func withSteps(p Part, s *chat.Steps, thread chat.ThreadID, room int) Part {
	short := shortSteps(s, max(leastEarlier, min(MostSection, room)))
	under := append([]slackgo.Block{Section(short)}, showAll(thread, s)...)
	out := slices.Clone(p)
	for i, f := range p {
		if len(f.Blocks) > 0 {
			out[i].Blocks = slices.Concat(f.Blocks, under)
		} else {
			out[i].Text += "\n\n" + short
		}
	}
	return out
}

// buttoned puts the buttons under the last message of an answer: another try, and what
// somebody thinks of it
// (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block). A workspace
// that does not take those of opinions may take the other.
func buttoned(p Part, t *chat.Text, c Card) Part {
	if t.Notice {
		return p
	}
	var out Part
	rich := func(shape string, under func(string) []slackgo.Block) {
		f := p[0]
		f.Shape, f.under = shape, under
		out = append(out, f)
	}
	again := func(answer string) []slackgo.Block {
		return []slackgo.Block{slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(RetryID, ValueOn(chat.EmojiRetry, answer), PlainText("Try again")))}
	}
	if !c.Again {
		again = func(string) []slackgo.Block { return nil }
	}
	rich("opinion buttons", func(answer string) []slackgo.Block { return append(again(answer), thumbs(answer)) })
	if c.Again {
		rich("answer buttons", again)
	}
	return append(out, p...)
}

func thumbs(answer string) slackgo.Block {
	button := func(text, value string) *slackgo.FeedbackButton {
		return slackgo.NewFeedbackButton(PlainText(text), ValueOn(value, answer))
	}
	return slackgo.NewContextActionsBlock("", slackgo.NewFeedbackButtonsBlockElement(OpinionID,
		button(chat.EmojiGood, ThinksGood).WithAccessibilityLabel("Good answer"),
		button(chat.EmojiBad, ThinksBad).WithAccessibilityLabel("Bad answer")))
}

// SummonsPart writes a text that calls people to an approval: who is meant, what
// about, and a link to its card, since no message of a thread answers another.
func SummonsPart(m front.Message, c Card) Part {
	open := ""
	if c.Workspace != "" {
		open = style.Link("Open the approval", Permalink(c.Workspace, c.Thread, m.Text.Summons.Card))
	}
	plain := Shorten(Escape(markdown.Plain(m.Text.Markdown)), MostFallback)
	text := summary.Lines(strings.Join(m.Calls, " "), markdown.Styled(m.Text.Markdown, style), open)
	return Part{{Blocks: []slackgo.Block{Section(Shorten(text, MostSection))}, Text: plain}, {Text: text}}
}

// AskingParts writes a text that asks people something, below who is meant.
func AskingParts(m front.Message, c Card) []Part {
	parts := AnswerParts(m.Text, c)
	if len(m.Calls) == 0 {
		return parts
	}
	who := strings.Join(m.Calls, " ")
	for i, f := range parts[0] {
		switch {
		case len(f.Blocks) > 0:
			parts[0][i].Blocks = append([]slackgo.Block{Section(who)}, f.Blocks...)
		case !f.Plain:
			parts[0][i].Text = who + "\n" + f.Text
		}
	}
	return parts
}
