package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Those who may decide may get the card in direct conversations too. Whom the rules
// mean by name only the platform knows, so that is looked up, beside everything
// else, and noted before the first card is posted. Whoever can't be written to is
// named in the thread, once: it is there that they can still decide.

// mostDirect is how many people get the card of an approval in direct conversations.
const mostDirect = 20

// search is a look at whom rules of approvers mean.
type search struct {
	seq uint64
	memory.Notified
}

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

func isDirect(place string) bool { return strings.HasPrefix(place, "user:") }

func directWith(who chat.UserID) string { return "user:" + string(who) }

// unreached notes that the card can't stand in a place.
func (c *call) unreached(place, why string) {
	if c.missed == nil {
		c.missed = map[string]string{}
	}
	c.missed[place] = why
}

// direct is what is to be done in direct conversations, but for the cards: to look up
// with whom, and to remind them.
func (d *decision) direct(c *call) (out []Action) {
	if !c.pending() || c.ref.IsZero() {
		return nil
	}
	if s, ok := d.seeking(c); ok {
		out = append(out, s)
	}
	for _, k := range c.copies {
		name := c.reminder() + k.suffix()
		if at := c.reminded; isDirect(k.place) && k.in < at.seq && !d.s.has(name) {
			p := d.summon(c, name, at, nil, "It still waits for a decision.")
			p.Post.ReplyTo, p.Post.Text.Summons.Card, p.Post.Text.Summons.Quiet = k.ref, k.ref, true
			out = append(out, Aside{At: k.at, Post: p.Post, Look: p.Look})
		}
	}
	return out
}

// seeking looks up whom those rules mean who may decide by now and were not looked
// up before.
func (d *decision) seeking(c *call) (Seek, bool) {
	act := Seek{Call: c.ID, Most: mostDirect - len(c.directPlaces()) + len(d.s.approval(c).Exclude)}
	if !c.asked.Rules.Direct || len(c.directPlaces()) >= mostDirect {
		return act, false
	}
	for _, rule := range c.mayNow() {
		if slices.ContainsFunc(c.searches, func(s search) bool { return slices.Contains(s.Of, rule) }) {
			continue
		}
		act.Of = append(act.Of, rule)
		if rule == chat.Requester || rule == chat.Anyone { // as it is they who are mentioned
			rule = directWith(c.asked.Requester.ID)
		}
		if !slices.Contains(act.Rules, rule) {
			act.Rules = append(act.Rules, rule)
		}
	}
	act.Name = c.nth() + "/" + strconv.Itoa(len(c.searches)+1)
	return act, len(act.Of) > 0
}

func (c *call) directPlaces() []string {
	return slices.DeleteFunc(slices.Clone(c.places), func(p string) bool { return !isDirect(p) })
}

// Sought is what is noted of those who were found; ok is false when that is of no use
// any more.
func (a *Agent) Sought(log *Log, act Seek, who []chat.User, unknown []string) (b memory.Notified, ok bool) {
	c := log.state.calls[act.Call]
	if c == nil || c.asked == nil || !c.pending() {
		return b, false
	}
	d := decision{a: a, s: log.state, log: log}
	if now, due := d.seeking(c); !due || now.Name != act.Name {
		return b, false
	}
	b = memory.Notified{Call: c.ID, Places: []string{}, Of: act.Of, Unknown: unknown}
	left := mostDirect - len(c.directPlaces())
	for _, u := range who {
		place := directWith(u.ID)
		if len(b.People) < left && c.notified[place] == 0 && !slices.Contains(b.Places, place) && !c.excludes(u.ID) {
			b.Places, b.People = append(b.Places, place), append(b.People, u)
		}
	}
	return b, true
}

func (c *call) unwrittenName(n int) string { return fmt.Sprintf("unwritten/%s/%d", c.nth(), n+1) }

// unwritten names in the thread those who could not be written to, once it is known
// of all who were looked up together.
func (d *decision) unwritten() Action {
	for _, c := range d.s.pendingCalls() {
		for n, s := range c.searches {
			name := c.unwrittenName(n)
			if d.s.has(name) || slices.ContainsFunc(s.Places, func(p string) bool { return !d.s.has(c.copyName(p)) }) {
				continue
			}
			if text, who := c.unwritten(s); text != "" {
				p := d.notice(name, c.ref, text, s.seq)
				view := d.s.approval(c)
				// Whom the card mentions already is not called again.
				p.Post.Text.Summons = &chat.Summons{Card: c.ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: !view.Quiet}
				return p
			}
		}
	}
	return nil
}

// unwritten says whom a search meant who could not be written to, as a text and as
// rules; "" where there is nobody.
func (c *call) unwritten(s search) (text string, rules []string) {
	var names []chat.User
	var why []string
	for _, u := range s.People {
		reason, missed := c.missed[directWith(u.ID)]
		if !missed {
			continue
		}
		names, rules = append(names, u), append(rules, directWith(u.ID))
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
	return fmt.Sprintf("Approval %d: `%s`. %s", c.asked.Number, c.Tool, strings.Join(lines, " ")), rules
}

// discreet leaves out of a card what it says of the conversation: whoever gets it
// directly may have no part in that. That nobody wrote a value stays.
func discreet(v *chat.Approval, c *call) {
	v.Direct, v.Quiet = true, true
	if v.Why != "" && v.Why == c.asked.Why {
		v.Why = textOutside
	}
	var marks []string
	for _, m := range v.Marks {
		if name, _, ok := strings.Cut(m, ": from "); ok {
			m = name + ": not from a person"
		}
		marks = append(marks, m)
	}
	v.Marks = marks
}

// textOutside is why a call is asked for, without what that was.
const textOutside = "The turn holds content from outside, so it asks."
