package discord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go along as a file, and the message shows how they begin. With all else at
// its longest that fits a message.
const (
	mostInline  = 500
	mostOnCard  = 2600 // of arguments on a card, which takes twice as much as a message
	mostBegun   = 400
	mostBecause = 350
	mostWho     = 60
)

// approvalPart writes the message that asks for an approval, and says first what
// came of it: a card, whose colour says it too, or where the arguments don't fit one,
// or Discord takes none, a plain message.
func approvalPart(p *chat.Approval) part {
	plain := plainApproval(p)
	shown := exact(p.Args)
	if markdown.UTF16(shown)+markdown.UTF16(would(p.Preview)) > mostOnCard {
		return plain
	}
	out := part{line: plain.line, accent: waitingColour, plain: &plain}
	switch p.Outcome {
	case chat.Approved:
		out.accent = approvedColour
	case chat.Denied:
		out.accent = deniedColour
	case chat.Expired, chat.Cancelled:
		out.accent = overColour
	}
	for _, text := range []string{headline(p), subline(p), fence("json", cmp.Or(shown, "{}")), previewed(p.Preview, mostOnCard), belowArgs(p)} {
		if text != "" {
			out.card = append(out.card, text)
		}
	}
	return out
}

// The colours of a card.
const (
	waitingColour  = 0xF0B232
	approvedColour = 0x23A55A
	deniedColour   = 0xDA373C
	overColour     = 0x80848E
)

// plainApproval writes it as a message without a card.
func plainApproval(p *chat.Approval) part {
	shown, note := exact(p.Args), ""
	out := part{line: callLine(p)}
	inline, begun := mostInline, mostBegun
	if p.Preview != nil { // they share the room
		inline, begun = mostInline/2, mostBegun/2
	}
	if text := would(p.Preview); markdown.UTF16(text) > inline {
		out.file = &upload{"call.txt", plainType, "The whole call and its preview", []byte(chat.Exact(p.Args) + "\n\n" + text)}
		note = "The whole call, and its whole preview, stand in the attached file."
		shown = shorten(shown, begun)
	} else if markdown.UTF16(shown) > inline {
		out.file = &upload{"arguments.json", plainType, "All arguments of the call", []byte(chat.Exact(p.Args))}
		note = fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in the attached file, sha256 `%s`.",
			summary.Count(markdown.UTF16(p.Args), "character"), chat.Sum(chat.Exact(p.Args)))
		shown = shorten(shown, begun)
	}
	out.content = summary.Lines(headline(p), subline(p), fence("json", cmp.Or(shown, "{}")), previewed(p.Preview, begun), note, belowArgs(p))
	return out
}

// previewed says what the call would do, in so many characters.
func previewed(p *chat.Preview, most int) string {
	if p == nil {
		return ""
	}
	title := shorten(verbatim(chat.Exact(strings.Join(strings.Fields(p.Title()), " "))), mostAbove)
	if p.Text == "" {
		return title
	}
	return title + "\n" + fence("", shorten(exact(p.Text), most))
}

// mostAbove is how long the line above a preview may be.
const mostAbove = 120

// would is a preview, as it stands in a file.
func would(p *chat.Preview) string {
	if p == nil {
		return ""
	}
	return chat.Exact(p.Title() + "\n" + p.Text)
}

// belowArgs is what stands below the arguments.
func belowArgs(p *chat.Approval) string { return summary.Lines(approvalTerms(p), callLine(p)) }

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
		if markdown.UTF16(out)+markdown.UTF16(s) > most {
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
		return "<:" + chat.Flat(name) + ":" + id + ">"
	}
	return shorten(escape(e), 25)
}

// approver writes an approver rule.
func approver(rule string, requester chat.User) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == chat.Requester:
		return shorten(person(requester), mostWho)
	case kind == chat.Anyone:
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

// mostHeadline is how long a headline may be.
const mostHeadline = 240

// headline is the first line: which approval it is, and in the end what came of
// it. It is a line of its own and no markup, since a notification shows it too.
func headline(p *chat.Approval) string {
	return shorten(verbatim(chat.Exact(p.Headline)), mostHeadline)
}

// subline is what stands below the headline: the tool, once the headline has
// something else to say, or why it is asked.
func subline(p *chat.Approval) string {
	if p.Outcome != "" {
		return "**Tool** " + code1(shorten(chat.Exact(p.Tool), 80))
	}
	return shorten(verbatim(chat.Exact(strings.Join(p.Because(), "\n"))), mostBecause)
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
		case kind == chat.Requester || kind == chat.Anyone:
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
