package discord

import (
	"cmp"
	"fmt"
	"strings"

	"nod/chat"
	"nod/chat/summary"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go along as a file, and the message shows how they begin. With all else at
// its longest that fits a message.
const (
	mostInline = 750
	mostBegun  = 400
	mostWhy    = 150
	mostWho    = 60
)

// approvalPart writes the message that asks for an approval, and says at its
// end what came of it.
func approvalPart(p *chat.Approval) part {
	head := "**Approval needed:** " + code1(shorten(p.Tool, 80))
	if p.Why != "" && p.Outcome == "" {
		head += "\n" + shorten(escape(p.Why), mostWhy)
	}
	shown, note := exact(p.Args), ""
	out := part{line: callLine(p)}
	if units(shown) > mostInline {
		out.file = &upload{"arguments.json", plainType, []byte(p.Args)}
		note = fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in the attached file, sha256 `%s`.",
			count(units(p.Args), "character"), sum(p.Args))
		shown = shorten(shown, mostBegun)
	}
	body := []string{head, fence("json", cmp.Or(shown, "{}")), note, approvalTerms(p), out.line, approvalEnd(p)}
	out.content = summary.Lines(body...)
	return out
}

// callLine names the call; no other message has it.
func callLine(p *chat.Approval) string {
	return "-# call " + code1(shorten(p.Call, 60)) + " · sha256 of tool and arguments: " + code1(shorten(p.Digest, 70))
}

// approvalTerms says who asked, who may approve, and until when.
func approvalTerms(p *chat.Approval) string {
	var may []string
	for _, rule := range p.Approvers {
		may = append(may, approver(rule, p.Requester))
	}
	lines := []string{
		"**Asked by** " + shorten(person(p.Requester), mostWho),
		"**May approve:** " + list(may, 200),
	}
	if p.Quorum > 1 {
		lines[1] += fmt.Sprintf(" (%d different people have to)", p.Quorum)
	}
	if len(p.Exclude) > 0 {
		var not []string
		for _, id := range p.Exclude {
			not = append(not, person(chat.User{ID: id}))
		}
		lines = append(lines, "**Not:** "+list(not, 120))
	}
	if !p.Deadline.IsZero() {
		lines = append(lines, fmt.Sprintf("**Until** <t:%d:f>", p.Deadline.Unix())) // each reader's own time
	}
	if p.Outcome == "" && len(p.Approve) > 0 && len(p.Deny) > 0 {
		lines = append(lines, fmt.Sprintf("React with %s to approve, with %s to deny.", shown(p.Approve[0]), shown(p.Deny[0])))
	}
	return strings.Join(lines, "\n")
}

// list writes as many as fit, and how many more there are.
func list(all []string, most int) string {
	out := ""
	for i, s := range all {
		if units(out)+units(s) > most {
			return strings.TrimPrefix(fmt.Sprintf("%s and %d more", out, len(all)-i), " and ")
		}
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

// shown writes an emoji; a guild's own is name:id.
func shown(e string) string {
	if name, id, ok := strings.Cut(e, ":"); ok && plainID.MatchString(id) {
		return "<:" + flat(name) + ":" + id + ">"
	}
	return shorten(escape(e), 25)
}

// approver writes an approver rule.
func approver(rule string, requester chat.User) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "requester":
		return shorten(person(requester), mostWho)
	case kind == "anyone":
		return "anyone here"
	case kind == "user":
		return shorten(person(chat.User{ID: chat.UserID(id)}), mostWho)
	case kind == "role" && plainID.MatchString(id):
		return "<@&" + id + ">"
	}
	return shorten(escape(rule), mostWho)
}

// approvalEnd is what the message ends with: who approved so far, or the
// outcome and whose it is.
func approvalEnd(p *chat.Approval) string {
	var by []string
	for _, u := range p.By {
		by = append(by, shorten(person(u), mostWho))
	}
	end := summary.Outcome(p, list(by, 150))
	if end != "" && end == string(p.Outcome) && p.Why != "" {
		end = shorten(escape(p.Why), mostWhy) + ".\n" + end
	}
	return end
}
