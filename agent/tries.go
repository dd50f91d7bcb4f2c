package agent

import (
	"nod/agent/approval"
	"nod/memory"
)

// Whoever asked for an answer may ask for another try of it: a turn of its own, to
// which nothing new was said. What the tries before it did stays done, and the model
// sees it. Such a turn remembers who spoke in the first one, since that may be left
// out of the log by then: what they may not approve, or not ask for, holds here too.

// again opens another try of the last answer.
func (d *decision) again() Action {
	if d.s.Open != nil || len(d.s.Inbox.Waiting) > 0 {
		return nil
	}
	for _, r := range d.s.Inbox.Reacts {
		if t, why := approval.Retried(d.s, r.Reaction); t != nil && why == "" {
			return Record{[]memory.Body{memory.Opened{
				Turn: r.Seq, Name: d.name(r.Seq, r.On), Requester: t.Requester, Strategy: t.Strategy, Again: t.ID,
				Try: t.Tries + 2, Voices: t.Senders(d.s.Last), To: t.ReplyTo(),
			}}}
		}
	}
	return nil
}
