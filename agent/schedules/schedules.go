// Package schedules judges schedules: who may make one, and which of their times begin.
package schedules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/chat/when"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// A schedule is a text that is asked, or posted, at times. It is an entry of its thread.
// Each time enters the log as a [memory.Slot] before anything begins, and is the message
// of a turn. So approvals, limits and replay hold for it as for any other.

// Words about schedules.
const (
	textNoSchedules = "I keep no schedules here: whoever runs me has not switched them on."
	textNone        = "Nothing is scheduled here. `every weekday 09:00: …`, `in 2h: …` or `remind tomorrow 9:00: …` does it."
	whyPaused       = "three turns in a row came to nothing"
	whyDown         = "I was down"
	whyBusy         = "another turn ran"
	whyUnknown      = "I could not find out whether its author may still ask"
)

func tooMany(n int, whose string) string {
	return fmt.Sprintf("%s has %d, and that is the most", whose, n)
}

// Tool is the tool by which the model asks for a schedule.
func Tool(rules memory.Rules) policy.Tool {
	t := policy.Tool{Risk: policy.Ask, Rules: rules, Tool: llm.Tool{
		Name:        thread.ScheduleTool,
		Description: "Ask something later, or again and again, in this thread. At that time you are asked `text` as if its author wrote it. With remind the text is only posted, with a mention. People approve each schedule.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"when":{"type":"string","description":"every weekday 09:00 | every mon,thu 14:30 | every 2h | in 90m | at 15:00 | tomorrow 09:00 | 2026-12-01 09:00"},` +
			`"text":{"type":"string","minLength":1},"remind":{"type":"boolean"}},"required":["when","text"],"additionalProperties":false}`),
	}}
	t.Rules.Grants = memory.Grants{}
	t.Schema, _ = args.Compile(t.Parameters) // a constant, which a test compiles
	return t
}

// Plan reads the plan in a message; why says, in words for people, why it can't be
// followed.
func Plan(limits policy.Schedules, zone func(chat.User) string, m chat.Message, now time.Time) (plan *when.Plan, why string) {
	if limits == (policy.Schedules{}) || m.From.Bot || m.Aside || m.Outside {
		return nil, ""
	}
	p, ok, err := when.Parse(m.Text, zone(m.From), now.Truncate(time.Millisecond)) // no store has a finer clock
	switch {
	case !ok:
		return nil, ""
	case p.Every > 0 && p.Every < limits.Least:
		return nil, limits.Shortest()
	case err != nil:
		return nil, err.Error()
	}
	return &p, ""
}

// Case judges the schedules of a thread.
type Case struct {
	Thread *thread.Thread
	Limits policy.Schedules
}

// Make makes the schedules that people asked for by word.
func (k Case) Make() do.Action {
	for _, c := range k.Thread.Inbox.Commands {
		if c.Word != "schedule" || c.Plan == nil || k.Thread.Has(c.Notice()) || k.Thread.Became[c.Seq] != nil {
			continue
		}
		return k.make(memory.Scheduled{By: c.From, Plan: *c.Plan, Message: c.Seq}, nil, func(why string) []memory.Body {
			return []memory.Body{memory.Scheduled{By: c.From, Plan: *c.Plan, Message: c.Seq, Refused: why}}
		})
	}
	return nil
}

// make makes a schedule, if the thread may have one more.
func (k Case) make(b memory.Scheduled, then []memory.Body, refuse func(why string) []memory.Body) do.Action {
	most, has := k.Limits, 0
	for _, c := range k.Thread.Folk.Schedules {
		if !c.Over {
			has++
		}
	}
	if has >= most.Thread {
		return do.Record{Bodies: refuse(tooMany(most.Thread, "this thread"))}
	}
	b.Number = k.Thread.Folk.Scheduled + 1
	return do.Schedule{Made: b, Then: then, Refused: refuse(tooMany(most.Person, phrase.Name(b.By)))}
}

// MakeOf makes the schedule of an approved call. It is made when the entry is in the
// log, so nothing has to run.
func (k Case) MakeOf(c *thread.Call, started memory.Started) do.Action {
	result := func(state chat.CallState, text string) memory.Result {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: state, Text: text, Origin: thread.Inside}
	}
	plan, err := c.Planned("", time.Time{})
	if err == nil && plan.Next(k.Thread.Now).IsZero() {
		err = fmt.Errorf("that time has passed")
	}
	if err != nil {
		return do.Record{Bodies: []memory.Body{result(chat.CallFailed, "not scheduled: "+err.Error())}}
	}
	b := memory.Scheduled{By: c.Turn.Requester, Plan: plan, Call: c.ID}
	done := result(chat.CallDone, scheduled(k.Thread.Folk.Scheduled+1, b, k.Thread.Now))
	return k.make(b, []memory.Body{started, done}, func(why string) []memory.Body {
		return []memory.Body{result(chat.CallFailed, "not scheduled: "+why)}
	})
}

// Begin has the times of schedules begin that are due. While a turn runs, a time waits for
// its end; it is skipped once the next one is due.
func (k Case) Begin() do.Action {
	for _, c := range k.Thread.Folk.Schedules {
		switch {
		case c.Over && !c.Closed:
			return do.Record{Bodies: []memory.Body{memory.Unscheduled{Number: c.Number, Author: c.By, By: c.Ender}}}
		case c.Tired():
			return do.Record{Bodies: []memory.Body{memory.Unscheduled{Number: c.Number, Paused: true, Why: whyPaused}}}
		}
		if act := k.slot(c); act != nil {
			return act
		}
	}
	return nil
}

// slot judges the times of one schedule that are due.
func (k Case) slot(c *thread.Schedule) do.Action {
	at := c.Due()
	if at.IsZero() || at.After(k.Thread.Now) {
		return nil
	}
	s := memory.Slot{Number: c.Number, Of: c.Seq, By: c.By, Plan: c.Plan, At: at}
	last, before, n := at, at, 0
	for next := c.Plan.Next(at); !next.IsZero() && !next.After(k.Thread.Now); next = c.Plan.Next(next) {
		before, last, n = last, next, n+1
	}
	busy := k.Thread.Open != nil || slices.ContainsFunc(k.Thread.Inbox.Waiting, func(m *thread.Message) bool { return !m.Deleted })
	late := k.Thread.Now.Sub(last)
	why := whyDown
	if k.Thread.Open != nil || k.Thread.Folk.Worked.After(at) {
		why = whyBusy
	}
	switch {
	case c.Plan.Repeats() && late > k.Limits.Late && why == whyDown: // the last one is too old as well
		s.From, s.At, s.Skipped, s.Why = at, last, n+1, whyDown
		return do.Record{Bodies: []memory.Body{s}}
	case n > 0:
		s.From, s.At, s.Skipped, s.Why = at, before, n, why
		return do.Record{Bodies: []memory.Body{s}}
	case busy:
		return nil
	case late >= time.Minute:
		s.Why = why
	}
	return do.Occur{Slot: s}
}

// Occurred is the entry of a time whose author was looked up. In doubt the time is skipped.
func Occurred(s memory.Slot, by chat.User, err error) memory.Body {
	switch {
	case err != nil:
		s.Skipped, s.From, s.Why = 1, s.At, whyUnknown
		return s
	case by.Unheard:
		why := phrase.Name(s.By) + " is not heard here any more"
		if by.Barred != "" {
			why += " (" + by.Barred + ")"
		}
		return memory.Unscheduled{Number: s.Number, Author: s.By, Why: why}
	}
	s.By.Name = cmp.Or(by.Name, s.By.Name)
	return s
}

// Line tells of a time of a schedule.
func Line(l thread.Line) string {
	text := fmt.Sprintf("Schedule %d · %s", l.Number, l.Plan.Clock(l.At))
	switch late := l.Late(); {
	case l.Skipped > 1:
		text += fmt.Sprintf(" skipped, and %d before it: %s", l.Skipped-1, l.Why)
	case l.Skipped == 1:
		text += " skipped: " + l.Why
	case l.Why != "":
		text += fmt.Sprintf(" · %s late: %s", phrase.Long(late), l.Why)
	}
	if l.Plan.Remind && l.Skipped == 0 {
		return "Reminder: " + l.Plan.Text + "\n\n" + text
	}
	return text
}

// Ended tells that a schedule ended by itself, or paused.
func Ended(c *thread.Schedule) string {
	if c.Paused {
		return fmt.Sprintf("Schedule %d is paused: %s. `resume %d` takes it up again.", c.Number, c.Ended, c.Number)
	}
	return fmt.Sprintf("Schedule %d has ended: %s.", c.Number, c.Ended)
}

// Reply answers a word about schedules; "" while it has no answer.
func (k Case) Reply(c *thread.Command) string {
	switch c.Word {
	case "schedule":
		return k.made(c)
	case "schedules":
		return k.list()
	}
	return k.switched(c)
}

// scheduled is the text that tells of a new schedule.
func scheduled(number int, b memory.Scheduled, now time.Time) string {
	return fmt.Sprintf("Schedule %d: %s, by %s: \"%s\"", number, b.Plan.Line(now), phrase.Name(b.By), phrase.OneLine(b.Plan.Text))
}

func (k Case) made(c *thread.Command) string {
	b, ok := k.Thread.Became[c.Seq].(memory.Scheduled)
	switch {
	case c.Why != "":
		return "not scheduled: " + c.Why
	case !ok:
		return ""
	case b.Refused != "":
		return "not scheduled: " + b.Refused
	}
	return scheduled(b.Number, b, c.At)
}

func (k Case) list() string {
	if k.Limits == (policy.Schedules{}) {
		return textNoSchedules
	}
	var lines []string
	for _, c := range k.Thread.Folk.Schedules {
		if c.Over {
			continue
		}
		line := "- " + scheduled(c.Number, c.Scheduled, k.Thread.Now)
		if c.Paused {
			line += fmt.Sprintf(" (paused: `resume %d`)", c.Number)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return textNone
	}
	return strings.Join(lines, "\n")
}

func (k Case) switched(c *thread.Command) string {
	switch {
	case !k.Thread.Folk.Switched[c.Seq] && c.Word == "resume":
		return "There is no paused schedule " + c.Arg + " here. `schedules` lists them."
	case !k.Thread.Folk.Switched[c.Seq]:
		return "There is no schedule " + c.Arg + " here. `schedules` lists them."
	case c.Word == "resume":
		return "Schedule " + c.Arg + " goes on."
	}
	return "Schedule " + c.Arg + " has ended."
}
