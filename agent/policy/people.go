package policy

import (
	"slices"
	"strings"

	"nod/agent/thread"
	"nod/chat"
)

// The `for` of a tool says who may ask for it. The words of everybody in a turn may move
// the model. So a turn with words of somebody else is not offered the tool, and a call of
// it is refused. Only the platform knows the members of groups: they are looked up before
// the model is called, once a turn for each person. In doubt a person is in none.

// everyone is the rule that anybody may ask.
const everyone = "everyone"

// Entitled says whether all people whose words are in a turn may ask for the tool.
func (t Tool) Entitled(turn *thread.Turn, seen uint64) bool {
	return turn == nil || len(t.NotFor(turn, seen)) == 0
}

// NotFor lists the people whose words are in a turn and who may not ask for the tool.
func (t Tool) NotFor(turn *thread.Turn, seen uint64) []chat.User {
	return slices.DeleteFunc(turn.Senders(seen), func(u chat.User) bool { return t.IsFor(u.ID, turn.Belongs[u.ID].In) })
}

// IsFor says whether a person may ask for a tool, who is in these groups.
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
