package agent

import (
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A form in which people change a call is made of what the card knows. What is sent
// with it is looked at twice: at once, so that the form can say what is wrong while
// it is still open, and then as every change is, by whoever has the thread.

// card is the post that shows an approval as it stands, with what people may do
// about it.
func (d *decision) card(c *thread.Call) chat.Post {
	p := viewCard(d.s, c)
	d.offer(c, p.Approval)
	return p
}

// cardElsewhere is the same for another place.
func (d *decision) cardElsewhere(c *thread.Call, place string) chat.Post {
	p := viewCard(d.s, c)
	p.ReplyTo, p.Approval = chat.MessageRef{}, viewElsewhere(d.s, c, place)
	d.offer(c, p.Approval)
	return p
}

// viewElsewhere is the view of an approval in another place.
func viewElsewhere(s *thread.Thread, c *thread.Call, place string) *chat.Approval {
	v := viewApproval(s, c)
	v.Elsewhere = true
	if thread.IsDirect(place) {
		discreet(&v, c)
	}
	return &v
}

// offer adds what people may do about a call that waits. What holds content from
// outside is not to be allowed for a while by a button: each such call is looked at.
func (d *decision) offer(c *thread.Call, v *chat.Approval) {
	if c.Decided != nil {
		return
	}
	tool, _ := d.a.tool(c.Tool)
	v.Parameters = string(tool.Parameters)
	if d.taintOf(c).Source == "" {
		v.Grant = c.Asked.Rules.Grants.Most
	}
}

// Card is the approval of a call as people see it; ok is false where there is none.
func (a *Agent) Card(entries []memory.Entry, id string) (v chat.Approval, ok bool) {
	s := thread.Read(entries)
	c := s.Calls[id]
	if c == nil || c.Asked == nil {
		return v, false
	}
	d := decision{a: a, s: s, log: &Log{state: s}}
	return *d.card(c).Approval, true
}

// Refuses says why a change that came from a form is not taken, as far as that is
// plain from the log; "" where it may be. Who is in a group is looked up later.
func (a *Agent) Refuses(entries []memory.Entry, b memory.Change) string {
	s := thread.Read(entries)
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil {
		return "this approval is over"
	}
	p := thread.Proposal{Call: c, By: b.By, Args: b.Args, Form: true, Was: b.Digest}
	return a.refuses(s, p, func(string) (bool, error) { return true, nil })
}

// NotChanged says to whoever wanted a change that there is none.
func NotChanged(why string) string { return "I did not change it: " + why + "." }
