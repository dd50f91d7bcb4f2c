package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// Arguments up to mostInline stand in the approval message itself. Longer ones
// go along as a file, and the message shows how they begin. With all else at
// its longest that fits a message.
const (
	mostInline  = 500
	MostOnCard  = 2600 // of arguments on a card, which takes twice as much as a message
	mostBegun   = 400
	mostBecause = 350
	mostWho     = 60
)

// ApprovalPart writes the message that asks for an approval, and says first what
// came of it: a card, whose colour says it too, or where the arguments don't fit one,
// or Discord takes none, a plain message.
func ApprovalPart(p *chat.Approval, in *front.Card) Part {
	plain := PlainApproval(p, in)
	shown := dialect.Exact(p.Args)
	if markdown.UTF16(shown)+markdown.UTF16(would(p.Preview)) > MostOnCard {
		return plain
	}
	return Part{
		Line: plain.Line, accent: cmp.Or(colours[p.Outcome], waitingColour), Plain: &plain,
		Card: texts(headline(in), subline(p, in), dialect.Fence("json", cmp.Or(shown, "{}")), previewed(p.Preview, in, MostOnCard), belowArgs(p, in)),
	}
}

// texts leaves out empty ones.
func texts(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// The colours of a card.
const waitingColour = 0xF0B232

var colours = map[chat.Outcome]int{chat.Approved: 0x23A55A, chat.Denied: 0xDA373C, chat.Expired: 0x80848E, chat.Cancelled: 0x80848E}

// PlainApproval writes it as a message without a card.
func PlainApproval(p *chat.Approval, in *front.Card) Part {
	shown, note := dialect.Exact(p.Args), ""
	out := Part{Line: callLine(p, in)}
	inline, begun := mostInline, mostBegun
	if p.Preview != nil { // they share the room
		inline, begun = mostInline/2, mostBegun/2
	}
	if text := would(p.Preview); markdown.UTF16(text) > inline {
		out.File = &api.Upload{Name: "call.txt", Kind: api.PlainType, Says: "The whole call and its preview", Data: []byte(chat.Exact(p.Args) + "\n\n" + text)}
		note = "The whole call, and its whole preview, stand in the attached file."
		shown = dialect.Shorten(shown, begun)
	} else if markdown.UTF16(shown) > inline {
		out.File = &api.Upload{Name: "arguments.json", Kind: api.PlainType, Says: "All arguments of the call", Data: []byte(chat.Exact(p.Args))}
		note = front.Begun(p, "the attached file, sha256 `"+chat.Sum(chat.Exact(p.Args))+"`")
		shown = dialect.Shorten(shown, begun)
	}
	out.Content = summary.Lines(headline(in), subline(p, in), dialect.Fence("json", cmp.Or(shown, "{}")), previewed(p.Preview, in, begun), note, belowArgs(p, in))
	return out
}

// previewed says what the call would do, in so many characters.
func previewed(p *chat.Preview, in *front.Card, most int) string {
	if p == nil {
		return ""
	}
	title := dialect.Shorten(dialect.Verbatim(in.Would), mostAbove)
	if p.Text == "" {
		return title
	}
	return title + "\n" + dialect.Fence("", dialect.Shorten(dialect.Exact(p.Text), most))
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
func belowArgs(p *chat.Approval, in *front.Card) string {
	return summary.Lines(append(in.Terms, in.So, in.How, callLine(p, in))...)
}

// callLine names the call; no other message has it.
func callLine(p *chat.Approval, in *front.Card) string {
	return "-# call " + markdown.Inline(dialect.Shorten(p.Call, 60)) + " · digest " + markdown.Inline(in.Digest)
}

// CardDialect is how Discord writes what has a meaning. Nobody is pinged by being named.
var CardDialect = front.Dialect{
	Bold:   func(text string) string { return "**" + text + "**" },
	Person: func(u chat.User, _ bool) string { return dialect.Shorten(dialect.Person(u), mostWho) },
	Rule:   func(rule string, requester chat.User, _ bool) string { return approver(rule, requester) },
	Time:   func(at time.Time) string { return fmt.Sprintf("<t:%d:f> (<t:%d:R>)", at.Unix(), at.Unix()) },
	Emoji:  shown,
	Link:   func(label, to string) string { return "[" + label + "](" + to + ")" },
	Group:  "role",
	Room:   200,
}

// shown writes an emoji; a guild's own is name:id.
func shown(e string) string {
	if name, id, ok := strings.Cut(e, ":"); ok && api.PlainID.MatchString(id) {
		return "<:" + chat.Flat(name) + ":" + id + ">"
	}
	return dialect.Shorten(dialect.Escape(e), 25)
}

// approver writes an approver rule.
func approver(rule string, requester chat.User) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == chat.Requester:
		return dialect.Shorten(dialect.Person(requester), mostWho)
	case kind == chat.Anyone:
		return "anyone here"
	case kind == "user":
		return dialect.Shorten(dialect.Person(chat.User{ID: chat.UserID(id)}), mostWho)
	case kind == "role" && api.PlainID.MatchString(id):
		return "<@&" + id + ">"
	}
	return dialect.Shorten(dialect.Escape(rule), mostWho)
}

// mostHeadline is how long a headline may be.
const mostHeadline = 240

// headline is the first line: which approval it is, and in the end what came of
// it. It is a line of its own and no markup, since a notification shows it too.
func headline(in *front.Card) string {
	return dialect.Shorten(dialect.Verbatim(in.Headline), mostHeadline)
}

// subline is what stands below the headline: the tool, once the headline has
// something else to say, or why it is asked.
func subline(p *chat.Approval, in *front.Card) string {
	if p.Outcome != "" {
		return "**Tool** " + markdown.Inline(dialect.Shorten(in.Tool, 80))
	}
	return dialect.Shorten(dialect.Verbatim(strings.Join(in.Why, " ")), mostBecause)
}

// Deciders are those who may decide, whom the message pings: people wait for them.
func Deciders(p *chat.Approval) Pings {
	out := Nobody()
	add := func(list *[]string, id string) {
		if api.PlainID.MatchString(id) && !slices.Contains(*list, id) && len(*list) < mostPinged {
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
			if !chat.Includes(p.Exclude, chat.UserID(id)) {
				add(&out.Users, id)
			}
		}
	}
	return out
}

// mostPinged is how many people one message may ping by name.
const mostPinged = 100

// Otherwise is how a message shows a post that can't be shown as it was to be: one
// that was made without a card never gets one, and a card stays one, whatever people
// made of the arguments.
func Otherwise(was Part, m front.Message) (Part, bool) {
	switch {
	case was.Plain != nil:
		return was.WithoutCard(), true
	case m.Approval == nil || len(was.Card) > 0:
		return Part{}, false
	}
	long := m.Approval
	note := fmt.Sprintf("That is only the beginning. The arguments are %s long, sha256 `%s`.", summary.Count(markdown.UTF16(long.Args), "character"), chat.Sum(chat.Exact(long.Args)))
	return Part{
		Line: was.Line, accent: waitingColour, Buttons: was.Buttons, Pings: was.Pings,
		Card: texts(headline(m.Card), subline(long, m.Card), dialect.Fence("json", dialect.Shorten(dialect.Exact(long.Args), MostOnCard-400)), note, belowArgs(long, m.Card)),
	}, true
}

// Redrawn is how a message is drawn that is drawn already, as far as this process
// knows how.
func Redrawn(m front.Message, now Part) Part {
	if m.Was != nil && len(now.Card) == 0 && markdown.UTF16(dialect.Exact(m.Was.Args)) <= MostOnCard {
		now, _ = Otherwise(now, m)
	}
	return now
}
