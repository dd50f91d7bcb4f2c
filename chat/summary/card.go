package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
)

// Folded is the one line that stays of a turn's steps: how many, which tools, how
// long, what was used, and before all that how the turn ended where it was not done.
// write makes a name fit to be shown.
func Folded(s *chat.Steps, write func(name string) string) string {
	parts := []string{"", Count(len(s.Items), "step"), Tools(s, write), "", Spent(s)}
	if s.Done && s.Status != "Done" {
		parts[0] = write(s.Status)
	}
	if s.Took > 0 {
		parts[3] = Took(s.Took)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

// Terms says who asked for a call, and while it waits who may approve it, and until when, in
// a line. The day is named where it is not that of now; write makes a text fit to be shown.
func Terms(p *chat.Approval, now time.Time, write func(text string) string) string {
	asked := "Asked by " + p.Requester.Display()
	if p.Outcome != "" {
		return write(asked)
	}
	var may []string
	for _, rule := range p.Approvers {
		kind, id, _ := strings.Cut(rule, ":")
		switch kind {
		case chat.Requester:
			may = append(may, p.Requester.Display())
		case "user":
			may = append(may, id)
		default:
			may = append(may, rule)
		}
	}
	who := strings.Join(may, ", ")
	if p.Quorum > 1 {
		who = fmt.Sprintf("%d of %s", p.Quorum, who)
	}
	for _, id := range p.Exclude {
		name := string(id)
		if id == p.Requester.ID {
			name = p.Requester.Display()
		}
		who += ", not " + name
	}
	s := asked + " · may approve: " + who
	if !p.Deadline.IsZero() {
		s += " · until " + clock(p.Deadline.In(now.Location()), now)
	}
	return write(s)
}

func clock(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
