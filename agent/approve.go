package agent

import (
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Member answers whether the person who reacted is in a group or role. An
// error means that it could not be found out.
type Member func(rule string) (bool, error)

func (c *call) deadline() time.Time { return c.askedAt.Add(c.asked.Rules.Timeout) }

// pending says whether the call waits for people.
func (c *call) pending() bool {
	return c.asked != nil && c.decided == nil && c.result == nil
}

// decide ends the approvals that the votes so far decide.
func (d *decision) decide() Action {
	for _, c := range d.s.pendingCalls() {
		if outcome, by := c.tally(); outcome != "" {
			bodies := []memory.Body{memory.Decided{Call: c.ID, Outcome: outcome, By: by, Rules: c.widerAt(d.s.now)}}
			if g, ok := c.granting(d.s.now); ok && outcome == chat.Approved {
				bodies = append(bodies, g)
			}
			return Record{bodies}
		}
		if c.hidden { // nobody can approve what they don't see
			return Record{[]memory.Body{memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "the changed arguments could not be shown", Rules: c.widerAt(d.s.now)}}}
		}
	}
	return nil
}

// expire ends the approvals whose deadline has passed.
func (d *decision) expire() Action {
	var bodies []memory.Body
	for _, c := range d.s.pendingCalls() {
		if !d.s.now.Before(c.deadline()) {
			bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Expired, Rules: c.widerAt(d.s.now)})
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// tally says what the votes come to. One denial decides; approvals do when enough
// different people stand by theirs who may approve now.
func (c *call) tally() (chat.Outcome, []chat.User) {
	for _, v := range c.votes {
		if v.Verdict == memory.Deny {
			return chat.Denied, []chat.User{v.By}
		}
	}
	by := c.approvers(c.standing())
	if len(by) >= max(1, c.asked.Rules.Quorum) {
		return chat.Approved, by
	}
	return "", nil
}

// standing lists the approvals that were not taken back.
func (c *call) standing() []memory.Vote {
	var out []memory.Vote
	for _, v := range c.votes {
		same := func(o memory.Vote) bool { return o.By.ID == v.By.ID && o.Emoji == v.Emoji }
		switch v.Verdict {
		case memory.Withdraw:
			out = slices.DeleteFunc(out, same)
		case memory.Approve:
			out = append(out, v)
		}
	}
	return out
}

// approvers lists the distinct people of standing approvals, without those
// who became excluded since, by writing a message into the turn.
func (c *call) approvers(standing []memory.Vote) []chat.User {
	var by []chat.User
	for _, v := range standing {
		known := slices.ContainsFunc(by, func(u chat.User) bool { return u.ID == v.By.ID })
		if !known && !c.excludes(v.By.ID) {
			by = append(by, v.By)
		}
	}
	return by
}

// excludes says whether a person may not approve because the call came of
// what they wrote themselves.
func (c *call) excludes(who chat.UserID) bool {
	if !c.asked.Rules.ExcludeRequester {
		return false
	}
	return who == c.asked.Requester.ID || slices.ContainsFunc(c.changes, func(b memory.Changed) bool { return b.By.ID == who }) ||
		c.turn.spoke(who) || slices.Contains(c.asked.Shown, who)
}

// judge picks the next reaction that has to be judged. Of those that were
// found at once, denials come first, so that a denial wins.
func (d *decision) judge() Action {
	meant := slices.DeleteFunc(slices.Clone(d.s.reacts), func(r reaction) bool { return !d.s.means(r.Reaction, r.seq) })
	if len(meant) == 0 {
		return nil
	}
	pick := meant[0]
	if pick.Found {
		for _, r := range meant {
			if r.Found && d.s.verdict(r.Reaction) == memory.Deny {
				pick = r
				break
			}
		}
	}
	return Judge{Seq: pick.seq, At: pick.at, Reaction: pick.Reaction, Rules: d.s.rules(pick), Others: d.s.others(pick)}
}

// means says whether a reaction has to be judged at all.
func (s *state) means(r memory.Reaction, seq uint64) bool {
	if c := s.byRef[r.On]; c != nil {
		v := s.verdict(r)
		return v != memory.Nothing && !c.repeats(r, v)
	}
	if r.Removed || r.On.IsZero() {
		return false
	}
	if t, why := s.retried(r); t != nil {
		return why != "" && s.open == nil && len(s.waiting) == 0
	}
	// What was put on some message before anything was asked was not meant for it.
	return slices.ContainsFunc(s.pendingCalls(), func(c *call) bool {
		return c.askedIn > 0 && c.askedIn < seq && (slices.Contains(c.asked.Rules.Approve, r.Emoji) || slices.Contains(c.asked.Rules.Deny, r.Emoji))
	})
}

// repeats says whether a reaction counted already, towards what was decided since: a
// look found it, and then the platform told of it too, or the other way round. Whoever
// put it is not told that it came too late.
func (c *call) repeats(r memory.Reaction, is memory.Verdict) bool {
	if c.decided == nil || r.Button || r.Grant != nil {
		return false
	}
	counted := c.standing()
	if is == memory.Deny {
		counted = c.votes
	}
	return slices.ContainsFunc(counted, func(v memory.Vote) bool {
		return v.By.ID == r.By.ID && v.Emoji == r.Emoji && v.Verdict == is && !v.Button
	})
}

// verdict is what a reaction on an approval message means.
func (s *state) verdict(r memory.Reaction) memory.Verdict {
	c := s.byRef[r.On]
	switch {
	case c == nil:
		return memory.Nothing
	case slices.Contains(c.asked.Rules.Deny, r.Emoji) && !r.Removed:
		return memory.Deny
	case !slices.Contains(c.asked.Rules.Approve, r.Emoji):
		return memory.Nothing
	case r.Removed:
		return memory.Withdraw
	}
	return memory.Approve
}

// rules lists the memberships on which a reaction hangs.
func (s *state) rules(r reaction) []string {
	c := s.byRef[r.On]
	if c == nil || c.decided != nil || r.Removed || r.By.Bot {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.approversAt(r.at)), func(rule string) bool { return !IsGroup(rule) })
}

// IsGroup says whether an approver rule names a group or a role, of which only
// the platform knows who is in it.
func IsGroup(rule string) bool {
	return strings.HasPrefix(rule, "group:") || strings.HasPrefix(rule, "role:")
}

// Vote judges a reaction. Whatever is in doubt does not count.
func (a *Agent) Vote(log *Log, j Judge, member Member) memory.Vote {
	s := log.state
	r := j.Reaction
	v := memory.Vote{Reaction: j.Seq, By: r.By, Emoji: r.Emoji, Verdict: s.verdict(r), Button: r.Button, Grant: r.Grant}
	c := s.byRef[r.On]
	if c != nil {
		v.Call = c.ID
		if c.asked != nil {
			v.Rules = c.widerAt(j.At)
		}
	}
	if _, v.Reason = s.retried(r); v.Reason == "" {
		v.Reason = s.ignore(c, v, r.Reaction, j.At, member)
	}
	v.Counts = v.Reason == ""
	return v
}

// ignore says why a vote does not count; "" when it does.
func (s *state) ignore(c *call, v memory.Vote, r chat.Reaction, at time.Time, member Member) string {
	switch {
	case c == nil:
		return "this message asks for no approval"
	case v.By.Bot:
		return "a bot's reaction never counts"
	case v.By.Barred != "" && (v.Verdict != memory.Deny || c.asked.Requester.ID != v.By.ID):
		return v.By.Barred
	case c.decided != nil:
		return "it is already decided: " + string(c.decided.Outcome)
	case c.result != nil || c.turn.ended || c.turn.stopped != nil || c.turn.failed != nil:
		return "the call is over"
	case !at.Before(c.deadline()):
		return "the time to decide is over"
	case c.stale(v.Reaction, r) && v.Verdict == memory.Approve:
		return "the arguments were changed; look at the card again, and take your reaction back before you put it anew"
	case v.Grant != nil && c.refusesGrant() != "":
		return c.refusesGrant()
	case v.Verdict == memory.Withdraw:
		return c.notStanding(v)
	}
	return c.ineligible(v, at, member)
}

func (c *call) notStanding(v memory.Vote) string {
	counted := slices.ContainsFunc(c.standing(), func(o memory.Vote) bool {
		return o.By.ID == v.By.ID && o.Emoji == v.Emoji
	})
	if counted {
		return ""
	}
	return "there was no approval to take back"
}

// ineligible says why a person may not decide; "" when they may. An excluded
// requester may still deny.
func (c *call) ineligible(v memory.Vote, at time.Time, member Member) string {
	if c.excludes(v.By.ID) {
		if v.Verdict == memory.Deny && v.By.ID == c.asked.Requester.ID {
			return ""
		}
		if v.Verdict == memory.Approve {
			return "somebody who did not ask for it has to approve"
		}
	}
	doubt := false
	for _, rule := range c.approversAt(at) {
		ok, err := c.matches(rule, v.By.ID, member)
		if err != nil {
			doubt = true
		} else if ok {
			return ""
		}
	}
	if doubt {
		return "it could not be checked whether you may decide; try again"
	}
	return "only these may decide: " + strings.Join(c.approversAt(at), ", ")
}

func (c *call) matches(rule string, who chat.UserID, member Member) (bool, error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch kind {
	case chat.Anyone:
		return true, nil
	case chat.Requester:
		return who == c.asked.Requester.ID, nil
	case "user":
		return string(who) == id, nil
	case "group", "role":
		return member(rule)
	}
	return false, nil
}
