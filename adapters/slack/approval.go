package slack

import (
	"cmp"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/summary"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go into a file beside it, and the message shows how they begin.
const (
	mostInline = 2800
	mostBegun  = 800
)

// whole says whether the arguments fit into the message.
func whole(args string) bool { return units(chat.Exact(args)) <= mostInline }

// argsFile names the file with the arguments of a call.
func argsFile(call string) string {
	return "arguments-" + strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, call) + ".json"
}

// approvalPart writes the message that asks for an approval, and says at its
// end what came of it.
func approvalPart(p *chat.Approval) part {
	head := "*Approval needed:* " + inlineCode(shorten(p.Tool, 200))
	if p.Why != "" {
		head += "\n" + shorten(escape(flat(p.Why)), 500)
	}
	shown, note := chat.Exact(p.Args), ""
	if !whole(p.Args) {
		note = fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in this thread, in the file %s or in messages, sha256 `%s`.",
			count(units(p.Args), "character"), inlineCode(argsFile(p.Call)), sum(p.Args))
		shown = shorten(shown, mostBegun)
	}
	who := approvalTerms(p)
	end := approvalEnd(p)
	blocks := []slackgo.Block{section(head), preformatted(cmp.Or(shown, "{}"))}
	if note != "" {
		blocks = append(blocks, section(note))
	}
	blocks = append(blocks, section(who), slackgo.NewContextBlock("", mrkdwn("sha256 of tool and arguments: `"+escape(p.Digest)+"`")))
	if end != "" {
		blocks = append(blocks, section(end))
	}
	lines := []string{head, "```" + escape(strings.ReplaceAll(shown, "`", `\u0060`)) + "```", note, who, end}
	plain := summary.Lines(lines...)
	return part{{blocks: blocks, text: shorten(plain, mostFallback), edit: summary.Lines(head, end)}, {text: plain}}
}

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
func approvalTerms(p *chat.Approval) string {
	var may []string
	for _, rule := range p.Approvers {
		may = append(may, approver(rule, p.Requester))
	}
	lines := []string{
		"*Asked by* " + person(p.Requester),
		"*May approve:* " + strings.Join(may, ", "),
	}
	if p.Quorum > 1 {
		lines[1] += fmt.Sprintf(" (%d different people have to)", p.Quorum)
	}
	if len(p.Exclude) > 0 {
		var not []string
		for _, id := range p.Exclude {
			not = append(not, person(chat.User{ID: id}))
		}
		lines = append(lines, "*Not:* "+strings.Join(not, ", "))
	}
	if !p.Deadline.IsZero() {
		lines = append(lines, "*Until* "+inReadersZone(p))
	}
	if p.Outcome == "" && len(p.Approve) > 0 && len(p.Deny) > 0 {
		lines = append(lines, fmt.Sprintf("React with %s to approve, with %s to deny.", emoji(p.Approve[0]), emoji(p.Deny[0])))
	}
	return shorten(strings.Join(lines, "\n"), mostSection)
}

// inReadersZone writes the deadline so that each reader sees their own time.
func inReadersZone(p *chat.Approval) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", p.Deadline.Unix(), p.Deadline.UTC().Format("2006-01-02 15:04 UTC"))
}

// emoji writes an emoji so that Slack shows it.
func emoji(e string) string {
	if name := chat.SlackName(e); name != e || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
		return ":" + name + ":"
	}
	return escape(e)
}

// approver writes an approver rule.
func approver(rule string, requester chat.User) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "requester":
		return person(requester)
	case kind == "anyone":
		return "anyone here"
	case kind == "user":
		return person(chat.User{ID: chat.UserID(id)})
	case kind == "group" && groupID.MatchString(id):
		return "<!subteam^" + id + ">"
	}
	return escape(rule)
}

// approvalEnd is what the message ends with: who approved so far, or the
// outcome and whose it is.
func approvalEnd(p *chat.Approval) string {
	var by []string
	for _, u := range p.By {
		by = append(by, person(u))
	}
	return summary.Outcome(p, strings.Join(by, ", "))
}
