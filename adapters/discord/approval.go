package discord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/summary"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go along as a file, and the message shows how they begin. With all else at
// its longest that fits a message.
const (
	mostInline = 750
	mostOnCard = 2600 // of arguments on a card, which takes twice as much as a message
	mostBegun  = 400
	mostWhy    = 150
	mostWho    = 60
)

// approvalPart writes the message that asks for an approval, and says first what
// came of it: a card, whose colour says it too, or where the arguments don't fit one,
// or Discord takes none, a plain message.
func approvalPart(p *chat.Approval) part {
	plain := plainApproval(p)
	shown := exact(p.Args)
	if units(shown) > mostOnCard {
		return plain
	}
	head, rest := approvalTexts(p)
	out := part{line: plain.line, accent: waitingColour, plain: &plain}
	switch p.Outcome {
	case chat.Approved:
		out.accent = approvedColour
	case chat.Denied:
		out.accent = deniedColour
	case chat.Expired, chat.Cancelled:
		out.accent = overColour
	}
	out.card = []string{head, fence("json", cmp.Or(shown, "{}")), rest}
	return out
}

// The colours of a card.
const (
	waitingColour  = 0xF0B232
	approvedColour = 0x23A55A
	deniedColour   = 0xDA373C
	overColour     = 0x80848E
)

// approvalTexts are what stands above the arguments and below them.
func approvalTexts(p *chat.Approval) (head, rest string) {
	head = headline(p)
	if p.Why != "" && p.Outcome == "" {
		head += "\n" + shorten(escape(chat.Exact(p.Why)), mostWhy)
	}
	return head, summary.Lines(approvalTerms(p), callLine(p))
}

// plainApproval writes it as a message without a card.
func plainApproval(p *chat.Approval) part {
	head, rest := approvalTexts(p)
	shown, note := exact(p.Args), ""
	out := part{line: callLine(p)}
	if units(shown) > mostInline {
		out.file = &upload{"arguments.json", plainType, "All arguments of the call", []byte(chat.Exact(p.Args))}
		note = fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in the attached file, sha256 `%s`.",
			count(units(p.Args), "character"), sum(chat.Exact(p.Args)))
		shown = shorten(shown, mostBegun)
	}
	out.content = summary.Lines(head, fence("json", cmp.Or(shown, "{}")), note, rest)
	return out
}

// callLine names the call; no other message has it.
func callLine(p *chat.Approval) string {
	return "-# call " + code1(shorten(p.Call, 60)) + " · digest " + code1(p.Digest[:min(len(p.Digest), 12)])
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
		lines = append(lines, fmt.Sprintf("**Until** <t:%d:f> (<t:%d:R>)", p.Deadline.Unix(), p.Deadline.Unix())) // each reader's own time
	}
	if len(p.By) > 0 && p.Outcome == "" {
		lines = append(lines, summary.Outcome(p, people(p.By)))
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

func people(by []chat.User) string {
	var out []string
	for _, u := range by {
		out = append(out, shorten(person(u), mostWho))
	}
	return list(out, 150)
}

// headline is the first line: which approval it is, and in the end what came of
// it.
func headline(p *chat.Approval) string {
	text := p.Headline
	switch {
	case text == "" && p.Outcome != "":
		text = summary.Outcome(p, "")
		if len(p.By) > 0 && (p.Outcome == chat.Approved || p.Outcome == chat.Denied) {
			return "**" + string(p.Outcome) + " by** " + people(p.By) + reasonOf(p)
		}
	case text == "" && p.Number > 0:
		text = fmt.Sprintf("Approval %d: %s", p.Number, p.Tool)
	case text == "":
		text = "Approval: " + p.Tool
	}
	line := "**" + shorten(escape(text), 200) + "**"
	if p.Outcome != "" {
		line += "\n**Tool** " + code1(shorten(p.Tool, 80))
	}
	return line
}

func reasonOf(p *chat.Approval) string {
	tool := "\n**Tool** " + code1(shorten(p.Tool, 80))
	if p.Reason == "" {
		return tool
	}
	return ": " + shorten(escape(p.Reason), mostWhy) + tool
}

// deciders are those who may decide, whom the message pings: people wait for them.
func deciders(p *chat.Approval) pings {
	out := nobody()
	add := func(list *[]string, id string) {
		if plainID.MatchString(id) && !slices.Contains(*list, id) && len(*list) < mostPinged {
			*list = append(*list, id)
		}
	}
	for _, rule := range p.Approvers {
		kind, id, _ := strings.Cut(rule, ":")
		switch {
		case kind == "role":
			add(&out.Roles, id)
		case kind == "requester" || kind == "anyone":
			id = string(p.Requester.ID)
			fallthrough
		case kind == "user":
			if !slices.Contains(p.Exclude, chat.UserID(id)) {
				add(&out.Users, id)
			}
		}
	}
	return out
}

// mostPinged is how many people one message may ping by name.
const mostPinged = 100
