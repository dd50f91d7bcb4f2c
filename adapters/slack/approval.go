package slack

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
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go into a file beside it, and the message shows how they begin.
const (
	mostInline = 2800
	mostBegun  = 800
)

// whole says whether the arguments fit into the message.
func whole(args string) bool { return markdown.UTF16(indented(args)) <= mostInline }

// argsFile names the file with the arguments of a call.
func argsFile(call string) string {
	return "arguments-" + strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, call) + ".json"
}

// card is how approvals and answers are drawn here.
type card struct {
	buttons bool // Approve, Deny and Edit, beside the emoji
	mention bool // who may decide is mentioned
	again   bool // an answer has a button that asks for another try

	thread    chat.ThreadID // in which it stands
	workspace string        // its address, for links; "" where it is not known
}

// The buttons of an approval. The value of each is the emoji that it stands for.
const (
	approveID = "nod_approve"
	denyID    = "nod_deny"
)

// digestDigits is how much of a digest people compare.
const digestDigits = 12

// approvalPart writes the message that asks for an approval: what came of it
// first, then what is asked. Nothing that a model, a tool or a stranger wrote in
// it is markup.
func approvalPart(p *chat.Approval, c card) part {
	head := shorten(chat.Exact(chat.Flat(p.Headline)), 400)
	tool := inlineCode(shorten(chat.Exact(p.Tool), 200))
	args := indented(p.Args)
	note := ""
	if !whole(p.Args) {
		note = fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in this thread, in the file %s or in messages, sha256 `%s…`.",
			summary.Count(markdown.UTF16(p.Args), "character"), inlineCode(argsFile(p.Call)), shortest(chat.Sum(chat.Exact(p.Args))))
		args = shorten(args, mostBegun)
	}
	who, end := approvalTerms(p, c), approvalEnd(p)
	title := []slackgo.RichTextSectionElement{slackgo.NewRichTextSectionTextElement(head, &slackgo.RichTextSectionTextStyle{Bold: true})}
	if p.Outcome != "" {
		title = append(title, slackgo.NewRichTextSectionTextElement("\n", nil),
			slackgo.NewRichTextSectionTextElement(shorten(chat.Exact(chat.Flat(p.Tool)), 200), &slackgo.RichTextSectionTextStyle{Code: true}))
	}
	blocks := []slackgo.Block{slackgo.NewRichTextBlock("", slackgo.NewRichTextSection(title...))}
	if why := because(p, 300); why != "" {
		blocks = append(blocks, slackgo.NewSectionBlock(plainText(why), nil, nil))
	}
	blocks = append(blocks, preformatted(cmp.Or(args, "{}")))
	if note != "" {
		blocks = append(blocks, section(note))
	}
	blocks = append(blocks, previewBlocks(p.Preview)...)
	blocks = append(blocks, section(who), slackgo.NewContextBlock("", mrkdwn("digest `"+escape(shortest(p.Digest))+"`")))
	if end != "" {
		blocks = append(blocks, section(end))
	}
	short := escape(head)
	if !strings.Contains(head, p.Tool) {
		short += "\n" + tool
	}
	why := strings.Map(noMarkup, escape(because(p, 200)))
	plain := summary.Lines(escape(head), tool, why,
		"```"+escape(strings.ReplaceAll(args, "`", `\u0060`))+"```", note, plainPreview(p.Preview), who, "digest `"+escape(shortest(p.Digest))+"`", end)
	out := part{{blocks: blocks, text: short}, {text: plain}}
	if buttons := votes(p, c); c.buttons && buttons != nil {
		rich := append(slices.Clone(blocks), buttons)
		out = append(part{{shape: "approval buttons", blocks: rich, text: short}}, out...)
	}
	return out
}

// mostPreview is how much of a preview stands on a card, which is given no more than
// that, but for what is written out.
const mostPreview = 2500

// previewBlocks say what the call would do. What a program wrote is no markup.
func previewBlocks(p *chat.Preview) []slackgo.Block {
	if p == nil {
		return nil
	}
	out := []slackgo.Block{slackgo.NewSectionBlock(plainText(shorten(chat.Exact(chat.Flat(p.Title())), 300)), nil, nil)}
	if p.Text != "" {
		out = append(out, preformatted(shorten(chat.Exact(p.Text), mostPreview)))
	}
	return out
}

// plainPreview is the same as text.
func plainPreview(p *chat.Preview) string {
	if p == nil {
		return ""
	}
	title := strings.Map(noMarkup, escape(shorten(chat.Exact(chat.Flat(p.Title())), 300)))
	if p.Text == "" {
		return title
	}
	return title + "\n```" + escape(strings.ReplaceAll(shorten(chat.Exact(p.Text), mostPreview), "`", `\u0060`)) + "```"
}

// because says why it is asked, in lines of so many characters.
func because(p *chat.Approval, most int) string {
	var lines []string
	for _, l := range p.Because() {
		lines = append(lines, shorten(chat.Exact(chat.Flat(l)), most))
	}
	return strings.Join(lines, "\n")
}

// votes are the buttons of an approval that waits; nil for one that doesn't.
func votes(p *chat.Approval, c card) slackgo.Block {
	if p.Outcome != "" || len(p.Approve) == 0 || len(p.Deny) == 0 {
		return nil
	}
	yes := slackgo.NewButtonBlockElement(approveID, p.Approve[0], plainText("Approve")).WithStyle(slackgo.StylePrimary)
	no := slackgo.NewButtonBlockElement(denyID, p.Deny[0], plainText("Deny")).WithStyle(slackgo.StyleDanger)
	return slackgo.NewActionBlock("nod-votes", append([]slackgo.BlockElement{yes, no}, further(p, c)...)...)
}

// noMarkup drops what is markup in Slack's own.
func noMarkup(r rune) rune {
	if strings.ContainsRune("*_~`", r) {
		return -1
	}
	return r
}

// indented lays arguments out for reading. Nothing but the space between values
// changes; what is no JSON stays as it is.
func indented(args string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(args), "", "  ") != nil {
		return chat.Exact(args)
	}
	return chat.Exact(b.String())
}

// shortest is what people compare of a digest.
func shortest(digest string) string { return digest[:min(len(digest), digestDigits)] }

// Arguments that stand in messages of their own: numbered from argsFrom on, so
// that they are known from the approval itself.
const (
	argsFrom     = 100
	argsPiece    = 2800
	mostArgParts = 12
)

// argsParts writes arguments whole, in as many messages as it takes.
func argsParts(args string) []part {
	var out []part
	all := pieces(chat.Exact(args), 3*argsPiece)
	for i, text := range all {
		head := fmt.Sprintf("Arguments, part %d of %d:", i+1, len(all))
		blocks := []slackgo.Block{section(head)}
		for _, piece := range pieces(text, argsPiece) {
			blocks = append(blocks, preformatted(piece))
		}
		plain := head + "\n```" + escape(strings.ReplaceAll(text, "`", `\u0060`)) + "```"
		out = append(out, part{{blocks: blocks, text: head}, {text: plain}})
	}
	return out
}

// approvalTerms says who asked, who may approve, and until when.
func approvalTerms(p *chat.Approval, c card) string {
	var may []string
	own := false
	for _, rule := range p.Approvers {
		if own = own || rule == chat.Requester; rule == chat.Requester {
			may = append(may, "whoever asked")
			continue
		}
		may = append(may, approver(rule, c.mention && p.Outcome == ""))
	}
	asked := escape(chat.Exact(chat.Flat(p.Requester.Display())))
	if own && c.mention && p.Outcome == "" {
		asked = person(p.Requester)
	}
	lines := []string{"*Asked by* " + asked}
	if p.Outcome == "" {
		lines = append(lines, "*May approve:* "+strings.Join(may, ", "))
		if p.Quorum > 1 {
			lines[1] += fmt.Sprintf(" (%d different people have to)", p.Quorum)
		}
	}
	if len(p.Exclude) > 0 && p.Outcome == "" {
		var not []string
		for _, id := range p.Exclude {
			not = append(not, person(chat.User{ID: id}))
		}
		lines = append(lines, "*Not:* "+strings.Join(not, ", "))
	}
	if !p.Deadline.IsZero() && p.Outcome == "" {
		lines = append(lines, "*Until* "+shownAt(p.Deadline))
	}
	if p.Outcome == "" && len(p.Approve) > 0 && len(p.Deny) > 0 {
		lines = append(lines, fmt.Sprintf("React with %s to approve, with %s to deny.", emoji(p.Approve[0]), emoji(p.Deny[0])))
	}
	return shorten(strings.Join(lines, "\n"), mostSection)
}

// shownAt writes a time so that each reader sees their own.
func shownAt(at time.Time) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", at.Unix(), at.UTC().Format("2006-01-02 15:04 UTC"))
}

// emoji writes an emoji so that Slack shows it.
func emoji(e string) string {
	if name := chat.SlackName(e); name != e || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
		return ":" + name + ":"
	}
	return escape(e)
}

// approver writes an approver rule, so that those whom it names are told, or not.
func approver(rule string, tell bool) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == chat.Anyone:
		return "anyone here"
	case kind == "user" && tell:
		return person(chat.User{ID: chat.UserID(id)})
	case kind == "group" && tell && groupID.MatchString(id):
		return "<!subteam^" + id + ">"
	}
	return escape(rule)
}

// approvalEnd is who approved so far, while others still have to.
func approvalEnd(p *chat.Approval) string {
	if p.Outcome != "" {
		return ""
	}
	var by []string
	for _, u := range p.By {
		by = append(by, escape(chat.Exact(chat.Flat(u.Display()))))
	}
	return summary.Outcome(p, strings.Join(by, ", "))
}
