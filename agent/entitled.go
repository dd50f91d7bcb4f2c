package agent

import (
	"nod/agent/thread"
	"nod/chat"
)

// textNotFor is what is said of a call of a tool that is not for all whose messages
// are in the turn.
const textNotFor = "denied: only some people may ask for this tool, and a message of somebody else is in this turn."

// identify asks who the people of a turn are, before the model is called, where a
// tool hangs on that.
func (d *decision) identify(t *thread.Turn) Action {
	rules := d.a.Tools.Groups()
	if len(rules) == 0 {
		return nil
	}
	var unknown []chat.UserID
	for _, u := range t.Senders(d.s.Last) {
		if _, known := t.Belongs[u.ID]; !known {
			unknown = append(unknown, u.ID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return Identify{Turn: t.ID, Who: unknown, Rules: rules}
}

// asksFor asks who somebody is that wants to know which tools they may use.
func (d *decision) asksFor(c *thread.Command) Action {
	rules := d.a.Tools.Groups()
	if c.Word != "help" || c.Is.Who != "" || len(rules) == 0 {
		return nil
	}
	return Identify{Turn: c.Seq, Who: []chat.UserID{c.From.ID}, Rules: rules}
}
