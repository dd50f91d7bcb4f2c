package layout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go into a file beside it, and the message shows how they begin.
const (
	mostInline = 2800
	mostBegun  = 800
)

// Whole says whether the arguments fit into the message.
func Whole(args string) bool { return markdown.UTF16(Indented(args)) <= mostInline }

// ArgsFile names the file with the arguments of a call.
func ArgsFile(call string) string {
	return "arguments-" + strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, call) + ".json"
}

// Card is how approvals and answers are drawn here.
type Card struct {
	Again bool // an answer has a button that asks for another try

	Thread    chat.ThreadID // in which it stands
	Workspace string        // its address, for links; "" where it is not known
}

// ApprovalPart writes the message that asks for an approval: what came of it
// first, then what is asked. Nothing that a model, a tool or a stranger wrote in
// it is markup.
func ApprovalPart(p *chat.Approval, in *front.Card, c Card) Part {
	head := Shorten(in.Headline, 400)
	tool := InlineCode(Shorten(in.Tool, 200))
	args := Indented(p.Args)
	note := ""
	if !Whole(p.Args) {
		note = front.Begun(p, fmt.Sprintf("this thread, in the file %s or in messages, sha256 `%s…`", InlineCode(ArgsFile(p.Call)), chat.Sum(chat.Exact(p.Args))[:front.DigestDigits]))
		args = Shorten(args, mostBegun)
	}
	terms := Shorten(summary.Lines(append(in.Terms, in.How)...), MostSection)
	title := []slackgo.RichTextSectionElement{slackgo.NewRichTextSectionTextElement(head, &slackgo.RichTextSectionTextStyle{Bold: true})}
	if p.Outcome != "" {
		title = append(title, slackgo.NewRichTextSectionTextElement("\n", nil),
			slackgo.NewRichTextSectionTextElement(Shorten(in.Tool, 200), &slackgo.RichTextSectionTextStyle{Code: true}))
	}
	blocks := []slackgo.Block{slackgo.NewRichTextBlock("", slackgo.NewRichTextSection(title...))}
	if why := because(in, 300); why != "" {
		blocks = append(blocks, slackgo.NewSectionBlock(PlainText(why), nil, nil))
	}
	blocks = append(blocks, preformatted(cmp.Or(args, "{}")))
	if note != "" {
		blocks = append(blocks, Section(note))
	}
	digest := "digest `" + Escape(in.Digest) + "`"
	would, plainly := preview(p.Preview, in)
	blocks = append(append(blocks, would...), Section(terms), slackgo.NewContextBlock("", Mrkdwn(digest)))
	if in.So != "" {
		blocks = append(blocks, Section(in.So))
	}
	short := Escape(head)
	if !strings.Contains(head, p.Tool) {
		short += "\n" + tool
	}
	why := strings.Map(noMarkup, Escape(because(in, 200)))
	plain := summary.Lines(Escape(head), tool, why, coded(args), note, plainly, terms, digest, in.So)
	out := Part{{Blocks: blocks, Text: short}, {Text: plain}}
	if buttons := cardButtons(p, in.Buttons, c); len(buttons) > 0 {
		rich := append(slices.Clone(blocks), slackgo.NewActionBlock("nod-votes", buttons...))
		out = append(Part{{Shape: "approval buttons", Blocks: rich, Text: short}}, out...)
	}
	return out
}

// coded writes text as a block of code in Slack's own markup.
func coded(text string) string {
	return "```" + Escape(strings.ReplaceAll(text, "`", `\u0060`)) + "```"
}

// mostPreview is how much of a preview stands on a card, which is given no more than
// that, but for what is written out.
const mostPreview = 2500

// preview says what the call would do, in blocks and as text. What a program wrote is no
// markup.
func preview(p *chat.Preview, in *front.Card) (blocks []slackgo.Block, text string) {
	if p == nil {
		return nil, ""
	}
	title, would := Shorten(in.Would, 300), Shorten(chat.Exact(p.Text), mostPreview)
	blocks, text = append(blocks, slackgo.NewSectionBlock(PlainText(title), nil, nil)), strings.Map(noMarkup, Escape(title))
	if p.Text != "" {
		blocks, text = append(blocks, preformatted(would)), text+"\n"+coded(would)
	}
	return blocks, text
}

// because says why it is asked, in lines of so many characters.
func because(in *front.Card, most int) string {
	var lines []string
	for _, l := range in.Why {
		lines = append(lines, Shorten(l, most))
	}
	return strings.Join(lines, "\n")
}

// cardButtons draws the buttons of an approval. One whose value is too long for Slack is
// left out.
func cardButtons(p *chat.Approval, all []front.Button, c Card) []slackgo.BlockElement {
	var out []slackgo.BlockElement
	for _, b := range all {
		id, value := map[front.Verb]string{front.Approve: ApproveID, front.Deny: DenyID, front.Edit: EditID, front.Grant: GrantID, front.Code: CodeID, front.GrantBy: GrantByID}[b.Verb], b.Emoji
		if b.Verb.Opens() {
			value = ValueOf(cmp.Or(p.Home, c.Thread).String(), p.Call, p.Digest)
		}
		if value == "" {
			continue
		}
		element := slackgo.NewButtonBlockElement(id, value, PlainText(b.Label))
		switch b.Verb {
		case front.Approve, front.Code:
			element.WithStyle(slackgo.StylePrimary)
		case front.Deny:
			element.WithStyle(slackgo.StyleDanger)
		default:
		}
		out = append(out, element)
	}
	return out
}

// noMarkup drops what is markup in Slack's own.
func noMarkup(r rune) rune {
	if strings.ContainsRune("*_~`", r) {
		return -1
	}
	return r
}

// Indented lays arguments out for reading. Nothing but the space between values
// changes; what is no JSON stays as it is.
func Indented(args string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(args), "", "  ") != nil {
		return chat.Exact(args)
	}
	return chat.Exact(b.String())
}

// Arguments that stand in messages of their own: numbered from argsFrom on, so
// that they are known from the approval itself.
const (
	ArgsFrom     = 100
	argsPiece    = 2800
	MostArgParts = 12
)

// ArgsParts writes arguments whole, in as many messages as it takes.
func ArgsParts(args string) []Part {
	var out []Part
	all := Pieces(chat.Exact(args), 3*argsPiece)
	for i, text := range all {
		head := fmt.Sprintf("Arguments, part %d of %d:", i+1, len(all))
		blocks := []slackgo.Block{Section(head)}
		for _, piece := range Pieces(text, argsPiece) {
			blocks = append(blocks, preformatted(piece))
		}
		plain := head + "\n" + coded(text)
		out = append(out, Part{{Blocks: blocks, Text: head}, {Text: plain}})
	}
	return out
}

// CardDialect is how Slack writes what has a meaning.
var CardDialect = front.Dialect{
	Bold: func(text string) string { return "*" + text + "*" },
	Person: func(u chat.User, tell bool) string {
		if !tell {
			return Escape(chat.Exact(chat.Flat(u.Display())))
		}
		return Person(u)
	},
	Rule:  approver,
	Time:  ShownAt,
	Emoji: emoji,
	Link:  func(label, to string) string { return style.Link(label, to) },
	Group: "group",
}

// ShownAt writes a time so that each reader sees their own.
func ShownAt(at time.Time) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", at.Unix(), at.UTC().Format("2006-01-02 15:04 UTC"))
}

// emoji writes an emoji so that Slack shows it.
func emoji(e string) string {
	if name := chat.SlackName(e); name != e || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
		return ":" + name + ":"
	}
	return Escape(e)
}

// Drawn is how cards are drawn.
var Drawn = front.Options{Dialect: CardDialect, Room: Roomy}

// approver writes an approver rule, so that those whom it names are told, or not.
func approver(rule string, _ chat.User, tell bool) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == chat.Requester:
		return "whoever asked"
	case kind == "user" && tell:
		return Person(chat.User{ID: chat.UserID(id)})
	case kind == "group" && tell && groupID.MatchString(id):
		return "<!subteam^" + id + ">"
	}
	return Escape(rule)
}
