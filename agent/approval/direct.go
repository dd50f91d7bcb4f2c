package approval

import (
	"slices"
	"strconv"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// People who may decide may get the card in direct conversations too. Only the platform
// knows whom the rules mean. So that is looked up beside everything else, and noted before
// the first card is posted. People who can't be written to are named in the thread, once:
// there they can still decide.

// mostDirect is how many people get the card of an approval in direct conversations.
const mostDirect = 20

// Search is a look-up of the people that rules of approvers mean. Name is the same for
// every attempt at it.
type Search struct {
	Name  string
	Call  string
	Of    []string // rules of approvers, as the approval has them
	Rules []string // the same, with the requester by id
	Most  int
}

// NextSearch looks up the people behind rules that let them decide by now, and were not
// looked up before.
func NextSearch(c *thread.Call) (next Search, ok bool) {
	next = Search{Call: c.ID, Most: mostDirect - len(c.DirectPlaces()) + len(Excluded(c))}
	if !c.Asked.Rules.Direct || len(c.DirectPlaces()) >= mostDirect {
		return next, false
	}
	for _, rule := range c.MayNow() {
		if slices.ContainsFunc(c.Copies.Searches, func(s thread.Search) bool { return slices.Contains(s.Of, rule) }) {
			continue
		}
		next.Of = append(next.Of, rule)
		if rule == chat.Requester || rule == chat.Anyone { // as it is they who are mentioned
			rule = thread.DirectWith(c.Asked.Requester.ID)
		}
		if !slices.Contains(next.Rules, rule) {
			next.Rules = append(next.Rules, rule)
		}
	}
	next.Name = c.Nth() + "/" + strconv.Itoa(len(c.Copies.Searches)+1)
	return next, len(next.Of) > 0
}

// Sought is the entry for people who were found; ok is false when the approval is over, or
// another search came first.
func Sought(s *thread.Thread, was Search, who []chat.User, unknown []string) (b memory.Notified, ok bool) {
	c := s.Calls[was.Call]
	if c == nil || c.Asked == nil || !c.Pending() {
		return b, false
	}
	if now, due := NextSearch(c); !due || now.Name != was.Name {
		return b, false
	}
	b = memory.Notified{Call: c.ID, Places: []string{}, Of: was.Of, Unknown: unknown}
	left := mostDirect - len(c.DirectPlaces())
	for _, u := range who {
		place := thread.DirectWith(u.ID)
		if len(b.People) < left && c.Copies.Notified[place] == 0 && !slices.Contains(b.Places, place) && !excludes(c, u.ID) {
			b.Places, b.People = append(b.Places, place), append(b.People, u)
		}
	}
	return b, true
}

// Excluded lists the people of the thread who may not approve a call, each of them once.
func Excluded(c *thread.Call) (out []chat.User) {
	if !c.Asked.Rules.ExcludeRequester {
		return nil
	}
	add := func(u chat.User) {
		if !chat.Includes(out, u.ID) {
			out = append(out, u)
		}
	}
	for _, m := range c.Turn.Msgs {
		if !m.Aside {
			add(m.From)
		}
	}
	for _, u := range c.Turn.Voices {
		add(u)
	}
	for _, who := range c.Asked.Shown {
		add(chat.User{ID: who})
	}
	for _, u := range c.Editors() {
		add(u)
	}
	return out
}

// Notify notes the channels where cards are to stand too.
func (k Case) Notify() (bodies []memory.Body) {
	for _, c := range k.Thread.PendingCalls() {
		if c.Card.Ref.IsZero() {
			continue
		}
		var places []string
		for _, id := range c.Asked.Rules.Channels {
			if p := "channel:" + id; c.Copies.Notified[p] == 0 {
				places = append(places, p)
			}
		}
		if len(places) > 0 {
			bodies = append(bodies, memory.Notified{Call: c.ID, Places: places})
		}
	}
	return bodies
}
