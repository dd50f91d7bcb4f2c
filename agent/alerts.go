package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
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
		text, shown := incidentLine(i), i.Shown()
		if text == "" || d.thread.Has(shown) {
			continue
		}
		p := d.sayNotice(i.Line(), chat.MessageRef{}, text, i.Seq)
		if !d.thread.Has(i.Line()) {
			p.Post.Key, p.Then = memory.PostKey(i.Line(), i.ID), []memory.Body{memory.Posted{Key: shown}}
			return p
		}
		if ref := d.thread.Posts.Refs[i.Line()]; !ref.IsZero() {
			return do.Edit{Ref: ref, Post: p.Post, Key: shown}
		}
	}
	return nil
}

// HeldBack tells people which incidents of a channel were held back.
func HeldBack(all []memory.Incident, now time.Time) string {
	if len(all) == 0 {
		return "No alert of this channel is held back."
	}
	text := fmt.Sprintf("%d incidents are held back, the oldest first:\n", len(all))
	if len(all) == 1 {
		text = "One incident is held back:\n"
	}
	for _, i := range all {
		text += fmt.Sprintf("\n- %s, for %s", phrase.Code(i.Key), phrase.Long(now.Sub(i.First)))
		if i.Times > 0 {
			text += fmt.Sprintf(", again × %d", i.Times)
		}
	}
	return text
}

// incidentLine is the line of an incident; "" where its turn says all.
func incidentLine(i *thread.Incident) string {
	var parts []string
	switch {
	case i.Waits():
		parts = append(parts, "held back: this hour has no room for another turn. It begins when there is, unless it is resolved by then")
	case i.As == memory.AlertHeld:
		parts = append(parts, "was held back")
	case i.As == memory.AlertLate:
		parts = append(parts, "found late, after a gap, so I did not look into it. Mention me if it still matters")
	}
	if i.Times > 0 {
		parts = append(parts, fmt.Sprintf("again × %d", i.Times))
	}
	if i.Over {
		parts = append(parts, "resolved")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Alert " + i.Name + ": " + strings.Join(parts, " · ")
}
