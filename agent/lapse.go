package agent

import (
	"nod/agent/approval"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Lapsed gives the votes that no longer count, as taken back: of people who may not
// decide any more, or of whom that can't be found out.
func (a *Agent) Lapsed(log *Log, j Judge, others map[chat.UserID]approval.Member) []memory.Body {
	return approval.LapsedVotes(log.Thread, thread.Reaction{Reaction: j.Reaction, Seq: j.Seq, At: j.At}, others)
}
