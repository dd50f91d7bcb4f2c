package agent

import (
	"slices"
	"strings"

	"nod/agent/thread"
	"nod/chat"
)

// Who may ask for a tool is said by its `for`. The words of everybody whose message
// is in a turn may move the model, so in a turn that holds a message of somebody else
// the tool is not offered, and a call of it all the same is refused. Only the
// platform knows who is in a group or has a role: that is asked before the model is
// called, once a turn for each person, and in doubt nobody is.

// everyone is the rule that anybody may ask.
const everyone = "everyone"

// textNotFor is what is said of a call of a tool that is not for all whose messages
// are in the turn.
const textNotFor = "denied: only some people may ask for this tool, and a message of somebody else is in this turn."

// entitled says whether all whose words are in a turn may ask for a tool.
func (d *decision) entitled(tool Tool, t *thread.Turn, seen uint64) bool {
	if t == nil || len(tool.For) == 0 {
		return true
	}
	return !slices.ContainsFunc(t.Senders(seen), func(u chat.User) bool { return !mayAsk(t, tool, u.ID) })
}

func mayAsk(t *thread.Turn, tool Tool, who chat.UserID) bool {
	return tool.isFor(who, t.Belongs[who].In)
}

// isFor says whether somebody may ask for a tool, who is in these groups.
func (t Tool) isFor(who chat.UserID, in []string) bool {
	return len(t.For) == 0 || slices.ContainsFunc(t.For, func(rule string) bool {
		id, isUser := strings.CutPrefix(rule, "user:")
		switch {
		case rule == everyone, isUser && id == string(who):
			return true
		}
		return slices.Contains(in, rule)
	})
}

// identify asks who the people of a turn are, before the model is called, where a
// tool hangs on that.
func (d *decision) identify(t *thread.Turn) Action {
	rules := d.a.groups()
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

// groups lists the groups and roles on which it hangs who may ask for a tool.
func (a *Agent) groups() (rules []string) {
	for _, tool := range a.Tools {
		for _, rule := range tool.For {
			if IsGroup(rule) && !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// asksFor asks who somebody is that wants to know which tools they may use.
func (d *decision) asksFor(c *thread.Command) Action {
	rules := d.a.groups()
	if c.Word != "help" || c.Is.Who != "" || len(rules) == 0 {
		return nil
	}
	return Identify{Turn: c.Seq, Who: []chat.UserID{c.From.ID}, Rules: rules}
}
