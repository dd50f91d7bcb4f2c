package front

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/chat/form"
	"nod/chat/markdown"
	"nod/chat/summary"
)

// Dialect is how a platform writes what has a meaning there. What it gets is as people and
// models wrote it; what it gives is markup.
type Dialect struct {
	Bold func(text string) string
	// Person names somebody; with tell they are mentioned, where the platform can do that.
	Person func(u chat.User, tell bool) string
	// Rule writes a rule of approvers, of whom requester is one; likewise.
	Rule  func(rule string, requester chat.User, tell bool) string
	Time  func(at time.Time) string // each reader's own
	Emoji func(emoji string) string
	Link  func(label, to string) string
	Group string // the kind of a rule that means many people: group, role
	Room  int    // for a list of people, in UTF-16 units; 0: no bound
}

// DigestDigits is how much of a digest people compare.
const DigestDigits = 12

var digestOn = regexp.MustCompile("\\bdigest `([0-9a-f]{12})`")

// DigestIn finds the digest in the text of a card, as a platform gives it; "" if there is
// none. It stands behind all that a model or a program wrote.
func DigestIn(text string) string {
	all := digestOn.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// Card is what the message says that asks for an approval: first what came of it, then what
// is asked. Texts are on one line each, and nothing in them is hidden: see [chat.Exact].
// Markup is in Terms, So and How alone.
type Card struct {
	Headline string
	Tool     string
	Why      []string // why it is asked; what people made of it
	Would    string   // the title of the preview; "" where there is none
	Terms    []string // who asked; while it waits who may approve, who may not, and until when
	So       string   // who approved so far
	How      string   // how to react
	Digest   string   // as much of it as people compare
	Buttons  []Button
}

// Button is a button of a card.
type Button struct {
	Verb  Verb
	Label string
	Emoji string // for which it stands; "" for none
}

// Message writes what a post says in the platform's dialect, if it has one.
func (o Options) Message(p chat.Post) Message {
	m := Message{Post: p}
	switch {
	case o.Dialect.Bold == nil:
	case p.Approval != nil:
		m.Card = o.card(p.Approval)
	case p.Text != nil && p.Text.Summons != nil:
		m.Calls = o.calls(p.Text.Summons)
	}
	return m
}

// calls names the people whom a text calls, each once.
func (o Options) calls(s *chat.Summons) (out []string) {
	for _, rule := range s.Approvers {
		kind, id, _ := strings.Cut(rule, ":")
		name := ""
		switch kind {
		case chat.Requester:
			id, name = string(s.Requester.ID), o.Dialect.Person(s.Requester, true)
		case "user", o.Dialect.Group:
			name = o.Dialect.Rule(rule, s.Requester, true)
		}
		left := name == "" || kind != o.Dialect.Group && chat.Includes(s.Exclude, chat.UserID(id))
		if !left && !s.Quiet && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// card writes an approval.
func (o Options) card(p *chat.Approval) *Card {
	c := &Card{
		Headline: line(p.Headline), Tool: line(p.Tool), Terms: o.terms(p), Buttons: o.buttons(p),
		Digest: p.Digest[:min(len(p.Digest), DigestDigits)],
	}
	for _, why := range p.Because() {
		c.Why = append(c.Why, line(why))
	}
	if p.Preview != nil {
		c.Would = line(p.Preview.Title())
	}
	if p.Outcome != "" {
		return c
	}
	c.So = summary.SoFar(p, o.people(p.By, o.Dialect.Room*3/4))
	if len(p.Approve) > 0 && len(p.Deny) > 0 {
		c.How = o.how(p)
	}
	return c
}

// how says which ways decide.
func (o Options) how(p *chat.Approval) string {
	approve, deny := o.Dialect.Emoji(p.Approve[0]), o.Dialect.Emoji(p.Deny[0])
	switch {
	case chat.NeedsCode(p.Ways):
		return fmt.Sprintf("Press Approve to approve: it asks for your code. React with %s to deny.", deny)
	case chat.ByReaction.Approves(p.Ways):
		return fmt.Sprintf("React with %s to approve, with %s to deny.", approve, deny)
	case chat.ByButton.Approves(p.Ways):
		return fmt.Sprintf("Press Approve to approve: a reaction does not. React with %s to deny.", deny)
	}
	return fmt.Sprintf("Write y %d to approve: a reaction does not. React with %s to deny.", p.Number, deny)
}

func line(text string) string { return chat.Exact(chat.Flat(text)) }

// Begun says of arguments of which a card shows the beginning alone where they stand whole.
func Begun(p *chat.Approval, where string) string {
	return fmt.Sprintf("That is only the beginning. The arguments are %s long and stand whole in %s.", summary.Count(markdown.UTF16(p.Args), "character"), where)
}

// terms says who asked, and while the approval waits who may approve, how many have to, who
// may not, and until when.
func (o Options) terms(p *chat.Approval) []string {
	d, waits := o.Dialect, p.Outcome == ""
	tell := waits && !p.Quiet
	var may []string
	for _, rule := range p.Approvers {
		if rule == chat.Anyone {
			may = append(may, "anyone here")
			continue
		}
		may = append(may, d.Rule(rule, p.Requester, tell))
	}
	asked := d.Bold("Asked by") + " " + d.Person(p.Requester, true) // a name anybody may take
	if p.Requester.Kind != "" {
		asked += " (" + p.Requester.Kind + ")"
	}
	out := []string{asked}
	if !waits {
		return out
	}
	line := d.Bold("May approve:") + " " + List(may, d.Room)
	if p.Quorum > 1 {
		line += fmt.Sprintf(" (%d different people have to)", p.Quorum)
	}
	out = append(out, line)
	if not := o.people(p.Exclude, d.Room*3/5); not != "" {
		out = append(out, d.Bold("Not:")+" "+not)
	}
	if !p.Deadline.IsZero() {
		out = append(out, d.Bold("Until")+" "+d.Time(p.Deadline))
	}
	return out
}

func (o Options) people(by []chat.User, room int) string {
	var out []string
	for _, u := range by {
		out = append(out, o.Dialect.Person(u, false))
	}
	return List(out, room)
}

// List writes as many as there is room for, and how many more there are; 0 is room for all.
func List(all []string, room int) string {
	out := ""
	for i, s := range all {
		if room > 0 && markdown.UTF16(out)+markdown.UTF16(s) > room {
			return strings.TrimPrefix(fmt.Sprintf("%s and %d more", out, len(all)-i), " and ")
		}
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

// buttons are those of an approval that waits.
func (o Options) buttons(p *chat.Approval) []Button {
	if o.NoButtons || p.Outcome != "" || len(p.Approve) == 0 || len(p.Deny) == 0 {
		return nil
	}
	var out []Button
	approve, grant, click := Approve, Grant, chat.ByButton.Approves(p.Ways)
	if chat.NeedsCode(p.Ways) {
		approve, grant, click = Code, GrantBy, true
	}
	if click {
		out = append(out, Button{approve, "Approve", p.Approve[0]})
	}
	out = append(out, Button{Deny, "Deny", p.Deny[0]})
	if !p.Elsewhere && len(form.Of(p.Parameters, p.Args, o.Room)) > 0 {
		out = append(out, Button{Edit, "Edit", ""})
	}
	if p.Grant > 0 && click {
		out = append(out, Button{grant, p.GrantLabel(), p.Approve[0]})
	}
	return out
}
