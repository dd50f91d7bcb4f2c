package agent

import (
	"slices"

	"nod/chat"
	"nod/memory"
)

// stop ends the running turn when somebody asked for that. A turn that nobody
// began to work on is opened first, so that there is something to end.
func (d *decision) stop() Action {
	by, seen, ok := d.s.stopAsked()
	if !ok {
		return nil
	}
	if t := d.s.open; t != nil {
		return Record{[]memory.Body{memory.Stopped{Turn: t.id, By: by, Seen: seen}}}
	}
	m := d.s.waiting[0]
	return Record{[]memory.Body{
		memory.Opened{Turn: m.seq, Name: d.name(m.seq, m.Ref), Requester: m.From},
		memory.Stopped{Turn: m.seq, By: by, Seen: seen},
	}}
}

// Interrupted says whether somebody asked to stop what runs, so that it need not
// be waited for.
func (a *Agent) Interrupted(log *Log) bool {
	_, _, ok := log.state.stopAsked()
	return ok
}

// stopAsked finds the first word, button or emoji that asks to stop what runs
// now, and the last entry that is stopped with it.
func (s *state) stopAsked() (by chat.User, seen uint64, ok bool) {
	note := func(who chat.User, seq uint64) {
		if !ok {
			by = who
		}
		seen, ok = max(seen, seq), true
	}
	for _, c := range s.commands {
		if (c.word == "stop" || c.word == "forget") && s.stoppable(c.seq) {
			note(c.From, c.seq)
		}
	}
	for _, h := range s.halts {
		if s.stoppable(h.seq) {
			note(h.by, h.seq)
		}
	}
	for _, r := range s.reacts {
		if r.Emoji == chat.EmojiStop && !r.Removed && s.people[r.By.ID] && s.stoppable(r.seq) && s.inTurn(r.On) {
			note(r.By, r.seq)
		}
	}
	return by, seen, ok
}

// stoppable says whether something asked for at seq can end anything.
func (s *state) stoppable(seq uint64) bool {
	if t := s.open; t != nil {
		return t.stopped == nil && t.failed == nil && !t.answered(s) && t.id < seq
	}
	return len(s.waiting) > 0 && s.waiting[0].seq < seq
}

// inTurn says whether a message is one of the running turn's, or of those that
// wait for one, a person's or the bot's.
func (s *state) inTurn(ref chat.MessageRef) bool {
	msgs := s.waiting
	if s.open != nil {
		msgs = slices.Concat(s.open.msgs, msgs)
		for _, name := range s.open.posts() {
			if s.posted[name] == ref {
				return true
			}
		}
	}
	return slices.ContainsFunc(msgs, func(m *message) bool { return m.Ref == ref })
}

// posts lists the names of the posts that a turn can make before its answer.
func (t *turn) posts() []string {
	names := []string{t.stepsName()}
	for _, st := range t.steps {
		for _, c := range st.calls {
			names = append(names, c.posts()...)
			if c.result != nil {
				for i := range c.result.Artifacts {
					names = append(names, fileName(c.ID, i))
				}
			}
		}
	}
	return names
}

func (s *state) stoppedBy(seq uint64) bool {
	return slices.ContainsFunc(s.turns, func(t *turn) bool {
		return t.stopped != nil && t.id < seq && seq <= t.stopped.Seen
	})
}

func (d *decision) cancel(c *call) []memory.Body {
	switch {
	case c.result != nil:
		return nil
	case c.started:
		if r, ok := d.lost(c); ok {
			return []memory.Body{r}
		}
		return nil
	case c.pending():
		cancelled := memory.Decided{Call: c.ID, Outcome: chat.Cancelled}
		if by := c.turn.stopped; by != nil {
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
func (d *decision) stopping(t *turn) Action {
	if act := d.abandoning(t); act != nil {
		return act
	}
	if len(d.s.started()) > 0 {
		return nil // only a person's own means end a side effect: it is waited for
	}
	return d.ending(t, "stopped/"+t.name, textStopped(t.stopped.By), t.stopped.Seen)
}

// abandoning cancels what a turn still had to do that is stopped, or failed.
func (d *decision) abandoning(t *turn) Action {
	var bodies []memory.Body
	for _, st := range t.steps {
		for _, c := range st.calls {
			bodies = append(bodies, d.cancel(c)...)
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}
