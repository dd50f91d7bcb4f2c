package policy

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

// Entitled says whether all whose words are in a turn may ask for the tool.
func (t Tool) Entitled(turn *thread.Turn, seen uint64) bool {
	if turn == nil || len(t.For) == 0 {
		return true
	}
	return !slices.ContainsFunc(turn.Senders(seen), func(u chat.User) bool { return !t.IsFor(u.ID, turn.Belongs[u.ID].In) })
}

// IsFor says whether somebody may ask for a tool, who is in these groups.
func (t Tool) IsFor(who chat.UserID, in []string) bool {
	return len(t.For) == 0 || slices.ContainsFunc(t.For, func(rule string) bool {
		id, isUser := strings.CutPrefix(rule, "user:")
		switch {
		case rule == everyone, isUser && id == string(who):
			return true
		}
		return slices.Contains(in, rule)
	})
}
