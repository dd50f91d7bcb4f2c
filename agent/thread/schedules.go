package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/chat/when"
	"nod/memory"
)

// ScheduleTool is the name of the tool by which the model asks for a schedule.
const ScheduleTool = "schedule"

// mostBad is after how many turns in a row that came to nothing a schedule is paused.
const mostBad = 3

// Schedule is a text that people want asked, or posted, at times.
type Schedule struct {
	memory.Standing
	Over   bool
	Ender  chat.User // who ended it by a word
	Closed bool      // the log says that it ended
	Ended  string    // why, where it ended by itself
	Told   uint64    // Seq of the entry by which it ended or paused by itself; 0: people need not be told
}

// Occasion is the time of a schedule by which a turn began.
type Occasion struct {
	memory.Slot
	Others []chat.User // who else wrote since the schedule was made
}

// Line is a time that came, which people are told.
type Line struct {
	memory.Slot
	Seq  uint64
	Came time.Time // when it entered the log
}

// Late is how late that was.
func (l Line) Late() time.Duration { return l.Came.Sub(l.At).Truncate(time.Minute) }

// Name names the post that tells it.
func (l Line) Name() string { return fmt.Sprintf("slot/%d-%d", l.Of, l.At.Unix()) }

// Schedule finds a schedule by its number; nil where there is none, or it is over.
func (s *Thread) Schedule(number int) *Schedule {
	return first(s.Folk.Schedules, func(c *Schedule) bool { return c.Number == number && !c.Over })
}

// Due is the next time at which the schedule is due; zero where there is none.
func (c *Schedule) Due() time.Time {
	if c.Over || c.Paused {
		return time.Time{}
	}
	return c.Plan.Next(c.Last)
}

// Tired says whether the schedule is to be paused.
func (c *Schedule) Tired() bool { return c.Bad >= mostBad && !c.Paused && !c.Over }

// Notice names the post that says that a schedule waits, or ended by itself.
func (c *Schedule) Notice() string { return fmt.Sprintf("schedule/%d/%d", c.Seq, c.Told) }

// takeScheduled takes a new schedule, or its refusal.
func (s *Thread) takeScheduled(e memory.Entry, b memory.Scheduled) {
	s.Became[b.Message] = b
	if b.Refused == "" {
		s.Folk.Scheduled = max(s.Folk.Scheduled, b.Number)
		c := &Schedule{Standing: memory.Standing{Scheduled: b, Seq: e.Seq}}
		if len(b.Plan.Days) > 0 { // others count from a time of their own: the word for them may have been found late
			c.Last = e.At
		}
		s.Folk.Schedules = append(s.Folk.Schedules, c)
	}
}

// takeSlot takes a time that came. One that begins is the message of a turn.
func (s *Thread) takeSlot(e memory.Entry, b memory.Slot) {
	if c := s.Schedule(b.Number); c != nil && c.Seq == b.Of {
		c.Last = b.At
		c.Over = !c.Plan.Repeats()
	}
	s.Folk.Lines = append(s.Folk.Lines, Line{b, e.Seq, e.At})
	if b.Skipped > 0 || b.Plan.Remind {
		return
	}
	said := chat.Message{From: b.By, Text: b.Plan.Text, Sent: e.At}
	s.Inbox.Waiting = append(s.Inbox.Waiting, &Message{Message: said, Seq: e.Seq, At: e.At, wrote: said.Text, Slot: &b})
}

// takeUnscheduled ends a schedule, or has it wait.
func (s *Thread) takeUnscheduled(seq uint64, b memory.Unscheduled) {
	for _, c := range s.Folk.Schedules {
		if c.Number != b.Number || c.Closed {
			continue
		}
		c.Paused, c.Ended = b.Paused, b.Why
		c.Over = c.Over || !b.Paused
		c.Closed = c.Over
		if b.Why != "" {
			c.Told = seq
		}
	}
	s.Folk.Schedules = slices.DeleteFunc(s.Folk.Schedules, func(c *Schedule) bool { return c.Closed && c.Told == 0 })
}

// switchSchedule ends a schedule by a word, or takes up a paused one.
func (s *Thread) switchSchedule(m *Message, word, arg string) {
	c := s.Schedule(Number(arg))
	if c == nil || word == "resume" && !c.Paused {
		return
	}
	s.Folk.Switched[m.Seq] = true
	if word == "resume" {
		c.Paused, c.Bad, c.Last, c.Told = false, 0, m.At, 0
		return
	}
	c.Over, c.Ender = true, m.From
}

// judgeSlot counts the turns in a row of a schedule that came to nothing.
func (s *Thread) judgeSlot(t *Turn) {
	if t.Slot == nil || t.Stopped != nil {
		return
	}
	c := s.Schedule(t.Slot.Number)
	if c == nil || c.Seq != t.Slot.Of {
		return
	}
	expired := slices.ContainsFunc(t.Calls(), func(k *Call) bool { return k.Decided != nil && k.Decided.Outcome == chat.Expired })
	if c.Bad++; t.Failed == nil && !expired {
		c.Bad = 0
	}
}

// standing lists the schedules that a trimmed log has to keep.
func (s *Thread) standing() (out []memory.Standing) {
	for _, c := range s.Folk.Schedules {
		if !c.Over {
			out = append(out, c.Standing)
		}
	}
	return out
}

// takeStanding takes the schedules that a trimmed log kept, as they were then.
func (s *Thread) takeStanding(list []memory.Standing, so int) {
	s.Folk.Scheduled = max(s.Folk.Scheduled, so)
	for _, k := range list {
		if !slices.ContainsFunc(s.Folk.Schedules, func(c *Schedule) bool { return c.Seq == k.Seq }) {
			s.Folk.Schedules = append(s.Folk.Schedules, &Schedule{Standing: k})
		}
	}
}

// strangersSince lists the people and programs, other than the author, who wrote since a
// schedule was made. The turn that begins by itself is not theirs.
func (s *Thread) strangersSince(b *memory.Slot) (out []chat.User) {
	for _, t := range s.Turns {
		for _, m := range t.Msgs {
			if m.Since(b) && !chat.Includes(out, m.From.ID) {
				out = append(out, m.From)
			}
		}
	}
	return out
}

// Since says whether somebody else than the author wrote the message after a schedule was
// made.
func (m *Message) Since(b *memory.Slot) bool {
	return b != nil && m.Seq > b.Of && m.From.ID != b.By.ID
}

// Alone says whether the message is a turn of its own: an order, or a time of a schedule.
func (m *Message) Alone() bool {
	_, ok := m.Order()
	return ok || m.Slot != nil || m.byAlert()
}

// planned is the form in which the model asks for a schedule.
type planned struct {
	When   string `json:"when"`
	Text   string `json:"text"`
	Remind bool   `json:"remind"`
}

// ErrNoPlan says that the words of a call name no time.
var ErrNoPlan = errors.New("`when` names no time; write it as in: every weekday 09:00, in 90m, tomorrow 14:30, 2026-12-01 09:00")

// Planned is the plan of a call of [ScheduleTool], by the clock and the zone under which
// it was asked for.
func (c *Call) Planned(zone string, now time.Time) (when.Plan, error) {
	if c.Asked != nil {
		zone, now = c.Asked.Zone, c.Ask.At
	}
	var p planned
	if err := json.Unmarshal([]byte(c.Args), &p); err != nil {
		return when.Plan{}, fmt.Errorf("read the arguments: %w", err)
	}
	words := strings.TrimSpace(p.When) + ": " + p.Text
	if p.Remind {
		words = "remind " + words
	}
	plan, ok, err := when.Parse(words, zone, now)
	if !ok {
		err = ErrNoPlan
	}
	return plan, err
}
