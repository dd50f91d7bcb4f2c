package outbox

import (
	"slices"

	"nod/chat"
	"nod/chat/bounded"
)

// PriorityOf says how important a post is.
func PriorityOf(p chat.Post) Priority {
	switch {
	case p.Approval != nil:
		return Approval
	case p.Steps != nil:
		return Steps
	}
	return Answer
}

// UrgencyOf gives the priority of a new message. Steps are as urgent as the posts
// behind them: nothing else appears in the thread before they do.
func UrgencyOf(p chat.Post) Priority {
	if p.Steps == nil {
		return PriorityOf(p)
	}
	for _, item := range p.Steps.Items {
		if slices.ContainsFunc(item.Calls, func(c chat.ToolCall) bool { return c.State == chat.CallAsking }) {
			return Approval
		}
	}
	return Answer
}

// String is the priority's name, for metrics.
func (p Priority) String() string {
	switch p {
	case Approval:
		return "approval"
	case Answer:
		return "answer"
	case Steps:
		return "steps"
	}
	return "low"
}

// Versions knows the newest version that was drawn of each message, so that an
// edit that comes late never replaces a newer one. The zero Versions is ready.
type Versions struct {
	seen bounded.Map[chat.MessageRef, uint64]
}

// Newer notes a version and says whether it may be drawn: not if a newer one was noted.
func (v *Versions) Newer(ref chat.MessageRef, version uint64) bool {
	return v.seen.Swap(ref, func(was uint64, _ bool) (uint64, bool) { return version, version >= was })
}
