package agent

import (
	"slices"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// stop ends the running turn when somebody asked for that. A turn that nobody
// began to work on is opened first, so that there is something to end.
func (d *decision) stop() Action {
	by, seen, ok := stopAsked(d.s)
	if !ok {
		return nil
	}
	if t := d.s.Open; t != nil {
		return Record{[]memory.Body{memory.Stopped{Turn: t.ID, By: by, Seen: seen}}}
	}
	m := d.s.Inbox.Waiting[0]
	return Record{[]memory.Body{
		memory.Opened{Turn: m.Seq, Name: d.name(m.Seq, m.Ref), Requester: m.From},
		memory.Stopped{Turn: m.Seq, By: by, Seen: seen},
	}}
}

// Interrupted says whether somebody asked to stop what runs, so that it need not
// be waited for.
func (a *Agent) Interrupted(log *Log) bool {
	_, _, ok := stopAsked(log.Thread)
	return ok
}

// stopAsked finds the first word, button or emoji that asks to stop what runs
// now, and the last entry that is stopped with it.
func stopAsked(s *thread.Thread) (by chat.User, seen uint64, ok bool) {
	note := func(who chat.User, seq uint64) {
		if !ok {
			by = who
		}
		seen, ok = max(seen, seq), true
	}
	for _, c := range s.Inbox.Commands {
		if (c.Word == "stop" || c.Word == "forget") && stoppable(s, c.Seq) {
			note(c.From, c.Seq)
		}
	}
	for _, h := range s.Inbox.Halts {
		if stoppable(s, h.Seq) {
			note(h.By, h.Seq)
		}
	}
	for _, r := range s.Inbox.Reacts {
		if r.Emoji == chat.EmojiStop && !r.Removed && s.Folk.People[r.By.ID] && stoppable(s, r.Seq) && isInTurn(s, r.On) {
			note(r.By, r.Seq)
		}
	}
	return by, seen, ok
}

// stoppable says whether something asked for at seq can end anything.
func stoppable(s *thread.Thread, seq uint64) bool {
	if t := s.Open; t != nil {
		return t.Stopped == nil && t.Failed == nil && !t.Answered(s) && t.ID < seq
	}
	return len(s.Inbox.Waiting) > 0 && s.Inbox.Waiting[0].Seq < seq
}

// isInTurn says whether a message is one of the running turn's, or of those that
// wait for one, a person's or the bot's.
func isInTurn(s *thread.Thread, ref chat.MessageRef) bool {
	msgs := s.Inbox.Waiting
	if s.Open != nil {
		msgs = slices.Concat(s.Open.Msgs, msgs)
		for _, name := range s.Open.Posts() {
			if s.Posts.Refs[name] == ref {
				return true
			}
		}
	}
	return slices.ContainsFunc(msgs, func(m *thread.Message) bool { return m.Ref == ref })
}

func stoppedBy(s *thread.Thread, seq uint64) bool {
	return slices.ContainsFunc(s.Turns, func(t *thread.Turn) bool {
		return t.Stopped != nil && t.ID < seq && seq <= t.Stopped.Seen
	})
}

func (d *decision) cancel(c *thread.Call) []memory.Body {
	switch {
	case c.Result != nil:
		return nil
	case c.Started:
		if r, ok := d.lost(c); ok {
			return []memory.Body{r}
		}
		return nil
	case c.Pending():
		cancelled := memory.Decided{Call: c.ID, Outcome: chat.Cancelled}
		if by := c.Turn.Stopped; by != nil {
			cancelled.By = []chat.User{by.By}
		}
		return []memory.Body{
			cancelled,
			memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: textCancelled},
		}
	}
	return []memory.Body{memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: textCancelled}}
}

// stopping cancels what the stopped turn still had to do, and says so.
func (d *decision) stopping(t *thread.Turn) Action {
	if act := d.abandoning(t); act != nil {
		return act
	}
	if len(d.s.Running()) > 0 {
		return nil // only a person's own means end a side effect: it is waited for
	}
	return d.ending(t, "stopped/"+t.Name, textStopped(t.Stopped.By), t.Stopped.Seen)
}

// abandoning cancels what a turn still had to do that is stopped, or failed.
func (d *decision) abandoning(t *thread.Turn) Action {
	var bodies []memory.Body
	for _, st := range t.Steps {
		for _, c := range st.Calls {
			bodies = append(bodies, d.cancel(c)...)
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}
