package agent

import (
	"nod/agent/approval"
	"nod/agent/thread"
	"nod/memory"
)

// judge has the next reaction judged.
func (d *decision) judge() Action {
	pick, ok := approval.NextVote(d.s)
	if !ok {
		return nil
	}
	return Judge{Seq: pick.Seq, At: pick.At, Reaction: pick.Reaction, Rules: approval.MembershipRules(d.s, pick), Others: approval.OtherApprovers(d.s, pick)}
}

// Vote judges a reaction. Whatever is in doubt does not count.
func (a *Agent) Vote(log *Log, j Judge, member approval.Member) memory.Vote {
	return approval.Vote(log.Thread, thread.Reaction{Reaction: j.Reaction, Seq: j.Seq, At: j.At}, member)
}
