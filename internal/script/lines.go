package script

import (
	"cmp"
	"strings"

	"nod/chat"
	"nod/chat/summary"
)

// This file says how the board writes down what people see.

func (b *Board) preview(p *chat.Preview) {
	if p == nil {
		return
	}
	b.note("%s", p.Title())
	for line := range strings.Lines(p.Text) {
		b.note("  %s", strings.TrimSuffix(line, "\n"))
	}
}

func marked(marks []string) string {
	if len(marks) == 0 {
		return ""
	}
	return " [" + strings.Join(marks, "; ") + "]"
}

// summoned says whom a text calls.
func summoned(s *chat.Summons) string {
	if s == nil {
		return ""
	}
	return "for " + strings.Join(s.Approvers, ", ") + ": "
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", since " + why
}

// votes notes who approved so far, where that changed.
func (b *Board) votes(was, is chat.Approval) {
	if is.Outcome != "" || chat.Names(was.By) == chat.Names(is.By) {
		return
	}
	b.note("%s %s", is.Tool, cmp.Or(summary.SoFar(&is, chat.Names(is.By)), "has no approval"))
}

// reason notes why somebody denied a call, once the card says it.
func (b *Board) reason(was, is chat.Approval) {
	if is.Reason != was.Reason {
		b.note("since %s", is.Reason)
	}
}

// status notes what the steps say is being done, where that changed.
func (b *Board) status(was, is string) {
	if b.Statuses && was != is {
		b.note("status %s", is)
	}
}

func (b *Board) outcome(a chat.Approval) {
	if a.Outcome == "" {
		return
	}
	line := strings.ToLower(string(a.Outcome)) + " " + a.Tool
	var by []string
	for _, u := range a.By {
		by = append(by, u.Display())
	}
	if len(by) > 0 {
		line += " by " + strings.Join(by, ", ")
	}
	b.note("%s", line)
}

func uses(s chat.Steps) string {
	var out []string
	for _, it := range s.Items {
		for _, c := range it.Calls {
			out = append(out, c.Tool+" "+string(c.State))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
