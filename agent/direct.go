package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/agent/approval"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Those who may decide may get the card in direct conversations too. Whom the rules
// mean by name only the platform knows, so that is looked up, beside everything
// else, and noted before the first card is posted. Whoever can't be written to is
// named in the thread, once: it is there that they can still decide.

// mostDirect is how many people get the card of an approval in direct conversations.
const mostDirect = 20

// Seek finds out whom Rules mean, and records what Sought makes of it. Name is the
// same for every attempt at it.
type Seek struct {
	Name  string
	Call  string
	Of    []string // rules of approvers, as the approval has them
	Rules []string // the same, with the requester by id
	Most  int
}

func (Seek) action() {}

// Aside says something about a card in another place, there, and records Posted.
type Aside struct {
	At   chat.ThreadID
	Post chat.Post
	Look bool
}

func (Aside) action() {}

// direct is what is to be done in direct conversations, but for the cards: to look up
// with whom, and to remind them.
func (d *decision) direct(c *thread.Call) (out []Action) {
	if !c.Pending() || c.Card.Ref.IsZero() {
		return nil
	}
	if s, ok := d.seeking(c); ok {
		out = append(out, s)
	}
	for _, k := range c.Copies.Cards {
		name := c.ReminderName() + k.Suffix()
		if at := c.Clocks.Reminded; thread.IsDirect(k.Place) && k.In < at.Seq && !d.s.Has(name) {
			p := d.summon(c, name, at, nil, "It still waits for a decision.")
			p.Post.ReplyTo, p.Post.Text.Summons.Card, p.Post.Text.Summons.Quiet = k.Ref, k.Ref, true
			out = append(out, Aside{At: k.At, Post: p.Post, Look: p.Look})
		}
	}
	return out
}

// seeking looks up whom those rules mean who may decide by now and were not looked
// up before.
func (d *decision) seeking(c *thread.Call) (Seek, bool) {
	act := Seek{Call: c.ID, Most: mostDirect - len(c.DirectPlaces()) + len(view.Approval(d.s, c).Exclude)}
	if !c.Asked.Rules.Direct || len(c.DirectPlaces()) >= mostDirect {
		return act, false
	}
	for _, rule := range c.MayNow() {
		if slices.ContainsFunc(c.Copies.Searches, func(s thread.Search) bool { return slices.Contains(s.Of, rule) }) {
			continue
		}
		act.Of = append(act.Of, rule)
		if rule == chat.Requester || rule == chat.Anyone { // as it is they who are mentioned
			rule = thread.DirectWith(c.Asked.Requester.ID)
		}
		if !slices.Contains(act.Rules, rule) {
			act.Rules = append(act.Rules, rule)
		}
	}
	act.Name = c.Nth() + "/" + strconv.Itoa(len(c.Copies.Searches)+1)
	return act, len(act.Of) > 0
}

// Sought is what is noted of those who were found; ok is false when that is of no use
// any more.
func (a *Agent) Sought(log *Log, act Seek, who []chat.User, unknown []string) (b memory.Notified, ok bool) {
	c := log.Thread.Calls[act.Call]
	if c == nil || c.Asked == nil || !c.Pending() {
		return b, false
	}
	d := a.on(log)
	if now, due := d.seeking(c); !due || now.Name != act.Name {
		return b, false
	}
	b = memory.Notified{Call: c.ID, Places: []string{}, Of: act.Of, Unknown: unknown}
	left := mostDirect - len(c.DirectPlaces())
	for _, u := range who {
		place := thread.DirectWith(u.ID)
		if len(b.People) < left && c.Copies.Notified[place] == 0 && !slices.Contains(b.Places, place) && !approval.Excludes(c, u.ID) {
			b.Places, b.People = append(b.Places, place), append(b.People, u)
		}
	}
	return b, true
}

// unwritten names in the thread those who could not be written to, once it is known
// of all who were looked up together.
func (d *decision) unwritten() Action {
	for _, c := range d.s.PendingCalls() {
		for n, s := range c.Copies.Searches {
			name := c.UnwrittenName(n)
			if d.s.Has(name) || slices.ContainsFunc(s.Places, func(p string) bool { return !d.s.Has(c.CopyName(p)) }) {
				continue
			}
			if text, who := textUnwritten(c, s); text != "" {
				p := d.notice(name, c.Card.Ref, text, s.Seq)
				view := view.Approval(d.s, c)
				// Whom the card mentions already is not called again.
				p.Post.Text.Summons = &chat.Summons{Card: c.Card.Ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: !view.Quiet}
				return p
			}
		}
	}
	return nil
}

// textUnwritten says whom a search meant who could not be written to, as a text and as
// rules; "" where there is nobody.
func textUnwritten(c *thread.Call, s thread.Search) (text string, rules []string) {
	var names []chat.User
	var why []string
	for _, u := range s.People {
		reason, missed := c.Copies.Missed[thread.DirectWith(u.ID)]
		if !missed {
			continue
		}
		names, rules = append(names, u), append(rules, thread.DirectWith(u.ID))
		if reason != "" && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	var lines []string
	if len(names) > 0 {
		line := "I could not write to " + chat.Names(names) + " directly"
		if len(why) > 0 {
			line += ": " + strings.Join(why, "; ")
		}
		lines = append(lines, line+".")
	}
	if len(s.Unknown) > 0 {
		rules = append(rules, s.Unknown...)
		lines = append(lines, "I could not find out who is in `"+strings.Join(s.Unknown, "`, `")+"`, so I wrote to nobody there directly.")
	}
	if len(lines) == 0 {
		return "", nil
	}
	return fmt.Sprintf("Approval %d: `%s`. %s", c.Asked.Number, c.Tool, strings.Join(lines, " ")), rules
}
