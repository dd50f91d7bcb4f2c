package agent

import (
	"slices"

	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/words"
	"nod/chat"
	"nod/memory"
)

// An alert opens a turn without a person. Package incidents says which alerts do. Here it
// is a turn as any other, but for its requester, who can't approve, and its tools.

// later are tools by which a turn changes what comes after it. No alert may use them.
var later = []string{"schedule", "remember"}

// tools are the tools as the open turn may use them. In that of an alert, its approvers
// take the place of the requester. Of an alert that the file does not have any more nobody
// approves.
func (d *decision) tools() policy.Set {
	name := d.thread.Open.Alert()
	if name == "" {
		return d.agent.Tools
	}
	alert := d.agent.Alerts[name]
	out := slices.DeleteFunc(slices.Clone(d.agent.Tools), func(t policy.Tool) bool { return slices.Contains(later, t.Name) })
	for i, t := range out {
		out[i].Rules = alert.Rules(t)
	}
	return out
}

// incidents shows, in a line each, what came of incidents beside their turns. Each line is
// one post, which is edited.
func (d *decision) incidents() do.Action {
	for _, i := range d.thread.Incidents {
		text, shown := words.Incident(i), i.Shown()
		if text == "" || d.thread.Has(shown) {
			continue
		}
		p := d.sayNotice(i.Line(), chat.MessageRef{}, text, i.Seq)
		if !d.thread.Has(i.Line()) {
			p.Then = []memory.Body{memory.Posted{Key: shown}}
			return p
		}
		if ref := d.thread.Posts.Refs[i.Line()]; !ref.IsZero() {
			return do.Edit{Ref: ref, Post: p.Post, Key: shown}
		}
	}
	return nil
}
