package agent

import (
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// stop ends the running turn when a person asked for that. A turn that nobody began is
// opened first, so that there is something to end.
func (d *decision) stop() do.Action {
	by, seen, ok := d.thread.StopAsked()
	if !ok {
		return nil
	}
	if t := d.thread.Open; t != nil {
		return do.Record{Bodies: []memory.Body{memory.Stopped{Turn: t.ID, By: by, Seen: seen}}}
	}
	m := d.thread.Inbox.Waiting[0]
	return do.Record{Bodies: []memory.Body{
		memory.Opened{Turn: m.Seq, Name: d.turnName(m.Seq, m.Ref), Requester: m.From},
		memory.Stopped{Turn: m.Seq, By: by, Seen: seen},
	}}
}

// Interrupted says whether a person asked to stop the turn, so that its work need not be
// waited for.
func (a *Agent) Interrupted(log *Log) bool {
	_, _, ok := log.Thread.StopAsked()
	return ok
}

// TextHalfDone is the result of a call whose turn was stopped while its server waited for an
// answer.
const TextHalfDone = "cancelled: the turn was stopped while the server waited for an answer; what the call had begun may be done in part."

func (d *decision) cancelCall(c *thread.Call) []memory.Body {
	switch {
	case c.Result != nil, c.Run.Handle != nil && c.Run.Handle.Repeats:
		return nil
	case c.Run.Handle != nil:
		return []memory.Body{memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: TextHalfDone}}
	case c.Started:
		if r, ok := d.approval().Lost(c); ok {
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
			memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: approval.TextCancelled},
		}
	}
	return []memory.Body{memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: approval.TextCancelled}}
}

// stopTurn cancels the open calls of the stopped turn, and says so.
func (d *decision) stopTurn(t *thread.Turn) do.Action {
	if act := d.abandonTurn(t); act != nil {
		return act
	}
	if len(d.thread.Running()) > 0 {
		return nil // only a person's own means end a side effect: it is waited for
	}
	return d.sayEnd(t, "stopped/"+t.Name, textStopped(t.Stopped.By), t.Stopped.Seen)
}

// abandonTurn cancels the open calls of a turn that is stopped, or failed. Servers end those
// that go on there.
func (d *decision) abandonTurn(t *thread.Turn) do.Action {
	var bodies []memory.Body
	for c := range t.EachCall() {
		bodies = append(bodies, d.cancelCall(c)...)
	}
	if len(bodies) > 0 {
		return do.Record{Bodies: bodies}
	}
	var calls []memory.Call
	for _, c := range d.thread.Tasks() {
		calls = append(calls, c.Call)
	}
	if len(calls) == 0 {
		return nil
	}
	return do.Run{Calls: calls, Stop: true}
}

// revoking notes revoked grants, for the audit log.
func (d *decision) revoking() do.Action {
	var out []memory.Body
	for _, r := range d.thread.Approvals.Revokes {
		out = append(out, r)
	}
	return records(out)
}
