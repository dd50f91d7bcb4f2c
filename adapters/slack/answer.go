package slack

import (
	"cmp"
	"context"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/markdown"
)

// mostReply is what a message of an answer has: less than all blocks of one may
// have together.
const mostReply = 10_000

// An answer of more than mostReplies messages is a file besides its beginning;
// where files are refused, it ends after mostPlainReplies.
const (
	mostReplies      = 4
	mostPlainReplies = 12
)

// answerParts writes an answer or a notice as so many messages as it takes.
// Slack draws CommonMark itself, tables too, in markdown blocks; but the language
// of code it shows as the code's first line.
func answerParts(t *chat.Text, c card) []part {
	var out []part
	for _, src := range markdown.Split(markdown.Bare(harmless(strings.ToValidUTF8(t.Markdown, "\uFFFD"))), mostReply, markdown.UTF16) {
		out = append(out, answerPart(src))
	}
	if len(out) == 0 {
		return []part{{{text: "(no text)", plain: true}}}
	}
	if !t.Notice {
		out[len(out)-1] = buttoned(out[len(out)-1], c)
	}
	return out
}

// answerPart writes one message: as Markdown, in Slack's own markup, as text of
// that alone.
func answerPart(src string) part {
	plain := cmp.Or(escape(markdown.Plain(src)), "(no text)")
	text := shorten(plain, mostFallback)
	return part{{blocks: []slackgo.Block{slackgo.NewMarkdownBlock("", src)}, text: text, rest: func() part {
		last := form{text: cmp.Or(markdown.Styled(src, style), plain)}
		if blocks := sections(src); len(blocks) > 0 && len(blocks) <= mostBlocks {
			return part{{blocks: blocks, text: text}, last}
		}
		return part{last}
	}}}
}

// style is Slack's own markup
// (https://docs.slack.dev/messaging/formatting-message-text).
var style = markdown.Style{
	Escape: escape, Strong: "*", Emph: "_", Strike: "~", Code: "`", Fence: "```",
	Link: func(label, to string) string {
		to = strings.NewReplacer("|", "%7C", ">", "%3E", "<", "%3C", " ", "%20").Replace(to)
		if to = escape(to); label == "" || strings.HasSuffix(to, label) {
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
		for _, piece := range pieces(strings.Join(run, "\n\n"), mostSection) {
			out = append(out, slackgo.NewSectionBlock(mrkdwn(piece), nil, nil, slackgo.SectionBlockOptionExpand(true)))
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
			for _, piece := range pieces(code, mostSection) {
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

// shareAnswer puts an answer that is too long for messages into a file, and gives
// what is left to be said in messages: its beginning.
func (s *sending) shareAnswer(ctx context.Context, parts []part) ([]part, error) {
	if len(parts) <= mostReplies {
		return parts, nil
	}
	mark := s.post.Mark(s.thread)
	err := s.share(ctx, upload{mark: mark, name: chat.MarkedName("answer.md", mark), title: "answer.md", data: []byte(s.post.Text.Markdown)})
	switch {
	case err == nil:
		begin := buttoned(parts[0], s.a.card())
		return []part{begin, {{text: "The answer is longer: the file answer.md has all of it.", plain: true}}}, nil
	case !api.RefusedForm(err):
		return nil, err
	case len(parts) <= mostPlainReplies:
		return parts, nil
	}
	parts[mostPlainReplies-1] = buttoned(parts[mostPlainReplies-1], s.a.card())
	return append(parts[:mostPlainReplies:mostPlainReplies], part{{text: "The answer is longer than can be shown here.", plain: true}}), nil
}

// pieces cuts text into lines' lengths of at most so many units. Of what is left it
// looks at no more than one piece at a time.
func pieces(s string, most int) []string {
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

// buttoned puts the buttons under the last message of an answer: another try, and what
// somebody thinks of it
// (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block). A workspace
// that does not take those of opinions may take the other.
func buttoned(p part, c card) part {
	var out part
	rich := func(shape string, under func(string) []slackgo.Block) {
		f := p[0]
		f.shape, f.under, f.rest = shape, under, nil
		out = append(out, f)
	}
	again := func(answer string) []slackgo.Block {
		return []slackgo.Block{slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(retryID, valueOn(chat.EmojiRetry, answer), plainText("Try again")))}
	}
	if !c.again {
		again = func(string) []slackgo.Block { return nil }
	}
	rich("opinion buttons", func(answer string) []slackgo.Block { return append(again(answer), thumbs(answer)) })
	if c.again {
		rich("answer buttons", again)
	}
	return append(out, p...)
}

// thumbs are the buttons that say what somebody thinks of an answer.
func thumbs(answer string) slackgo.Block {
	button := func(text, value string) *slackgo.FeedbackButton {
		return slackgo.NewFeedbackButton(plainText(text), valueOn(value, answer))
	}
	return slackgo.NewContextActionsBlock("", slackgo.NewFeedbackButtonsBlockElement(opinionID,
		button(chat.EmojiGood, thinksGood).WithAccessibilityLabel("Good answer"),
		button(chat.EmojiBad, thinksBad).WithAccessibilityLabel("Bad answer")))
}
