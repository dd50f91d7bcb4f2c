package summary

import (
	"fmt"
	"strings"
	"time"

	"nod/chat"
)

// Folded is the one line of a turn's folded steps: their number, the tools, how
// many calls failed, the time and the usage, and first of all an ending other than done. write makes a name fit to
// be shown.
func Folded(s *chat.Steps, write func(name string) string) string {
	return Dotted(Ending(s, write), Count(len(s.Items), "step"), Tools(s, write), Troubles(s), Time(s), Spent(s))
}

// Terms is a line with the requester of a call, and while it waits its approvers and
// time limit. It names the day if it is not the day of now; write makes a text fit to
// be shown.
func Terms(p *chat.Approval, now time.Time, write func(text string) string) string {
	asked := "Asked by " + p.Requester.Display()
	if p.Requester.Kind != "" {
		asked += " (" + p.Requester.Kind + ")"
	}
	if p.Outcome != "" {
		return write(asked)
	}
	who := May(p)
	if p.Quorum > 1 {
		who = fmt.Sprintf("%d of %s", p.Quorum, who)
	}
	for _, u := range p.Exclude {
		who += ", not " + u.Display()
	}
	s := asked + " · may approve: " + who
	if !p.Deadline.IsZero() {
		s += " · until " + clock(p.Deadline.In(now.Location()), now)
	}
	return write(s)
}

// May names the rules of who may approve.
func May(p *chat.Approval) string {
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
	return strings.Join(may, ", ")
}

func clock(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
