package agent

import (
	"slices"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Who approved as one of a group may have left it before the quorum is reached. So
// with each approval that comes those that stand are looked up again.

// otherApprovers lists whoever else approved the call that a reaction is on, where that
// hangs on a membership.
func otherApprovers(s *thread.Thread, r thread.Reaction) []chat.User {
	c := s.Posts.Cards[r.On]
	if c == nil || verdictOf(s, r.Reaction) != memory.Approve || len(membershipRules(s, r)) == 0 {
		return nil
	}
	var out []chat.User
	for _, v := range c.Standing() {
		same := func(u chat.User) bool { return u.ID == v.By.ID }
		if v.By.ID != r.By.ID && !slices.ContainsFunc(out, same) {
			out = append(out, v.By)
		}
	}
	return out
}

// Lapsed gives the votes that no longer count, as taken back: of people who may not
// decide any more, or of whom that can't be found out.
func (a *Agent) Lapsed(log *Log, j Judge, others map[chat.UserID]Member) []memory.Body {
	s := log.state
	c := s.Posts.Cards[j.Reaction.On]
	if c == nil || c.Decided != nil || c.Result != nil {
		return nil
	}
	var out []memory.Body
	for _, v := range c.Standing() {
		member, looked := others[v.By.ID]
		if !looked {
			continue
		}
		if why := ineligible(c, v, j.At, member); why != "" {
			out = append(out, memory.Vote{Call: c.ID, By: v.By, Emoji: v.Emoji, Verdict: memory.Withdraw, Counts: true, Reason: why})
		}
	}
	return out
}
