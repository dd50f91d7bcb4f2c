package agent

import (
	"nod/agent/thread"
	"nod/memory"
)

// forget erases the thread once nothing runs.
func (d *decision) forget() Action {
	if d.s.Open != nil {
		return nil
	}
	for _, c := range d.s.Inbox.Commands {
		if c.Word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	return nil
}

func (d *decision) forgot(c *thread.Command) memory.Forgot {
	return memory.Forgot{By: c.From, Before: c.Seq + 1, Horizon: c.Sent, Ref: c.Ref}
}
