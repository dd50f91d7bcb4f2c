package agent

import (
	"slices"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Member answers whether the person who reacted is in a group or role. An
// error means that it could not be found out.
type Member func(rule string) (bool, error)

// decide ends the approvals that the votes so far decide.
func (d *decision) decide() Action {
	for _, c := range d.s.PendingCalls() {
		if outcome, by := tally(c); outcome != "" {
			bodies := []memory.Body{memory.Decided{Call: c.ID, Outcome: outcome, By: by, Rules: c.WiderAt(d.s.Now)}}
			if g, ok := newGrant(c, d.s.Now); ok && outcome == chat.Approved {
				bodies = append(bodies, g)
			}
			return Record{bodies}
		}
		if c.Card.Hidden { // nobody can approve what they don't see
			return Record{[]memory.Body{memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "the changed arguments could not be shown", Rules: c.WiderAt(d.s.Now)}}}
		}
	}
	return nil
}

// expire ends the approvals whose deadline has passed.
func (d *decision) expire() Action {
	var bodies []memory.Body
	for _, c := range d.s.PendingCalls() {
		if !d.s.Now.Before(c.Deadline()) {
			bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Expired, Rules: c.WiderAt(d.s.Now)})
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// tally says what the votes come to. One denial decides; approvals do when enough
// different people stand by theirs who may approve now.
func tally(c *thread.Call) (chat.Outcome, []chat.User) {
	for _, v := range c.Votes.Given {
		if v.Verdict == memory.Deny {
			return chat.Denied, []chat.User{v.By}
		}
	}
	by := approvers(c, c.Standing())
	if len(by) >= max(1, c.Asked.Rules.Quorum) {
		return chat.Approved, by
	}
	return "", nil
}

// approvers lists the distinct people of standing approvals, without those
// who became excluded since, by writing a message into the turn.
func approvers(c *thread.Call, standing []memory.Vote) []chat.User {
	var by []chat.User
	for _, v := range standing {
		known := slices.ContainsFunc(by, func(u chat.User) bool { return u.ID == v.By.ID })
		if !known && !excludes(c, v.By.ID) {
			by = append(by, v.By)
		}
	}
	return by
}

// excludes says whether a person may not approve because the call came of
// what they wrote themselves.
func excludes(c *thread.Call, who chat.UserID) bool {
	if !c.Asked.Rules.ExcludeRequester {
		return false
	}
	return who == c.Asked.Requester.ID || slices.ContainsFunc(c.Edits.Made, func(b memory.Changed) bool { return b.By.ID == who }) ||
		c.Turn.Spoke(who) || slices.Contains(c.Asked.Shown, who)
}

// judge picks the next reaction that has to be judged. Of those that were
// found at once, denials come first, so that a denial wins.
func (d *decision) judge() Action {
	meant := slices.DeleteFunc(slices.Clone(d.s.Inbox.Reacts), func(r thread.Reaction) bool { return !meansVote(d.s, r.Reaction, r.Seq) })
	if len(meant) == 0 {
		return nil
	}
	pick := meant[0]
	if pick.Found {
		for _, r := range meant {
			if r.Found && verdictOf(d.s, r.Reaction) == memory.Deny {
				pick = r
				break
			}
		}
	}
	return Judge{Seq: pick.Seq, At: pick.At, Reaction: pick.Reaction, Rules: membershipRules(d.s, pick), Others: otherApprovers(d.s, pick)}
}

// meansVote says whether a reaction has to be judged at all.
func meansVote(s *thread.Thread, r memory.Reaction, seq uint64) bool {
	if c := s.Posts.Cards[r.On]; c != nil {
		v := verdictOf(s, r)
		return v != memory.Nothing && !repeatsVote(c, r, v)
	}
	if r.Removed || r.On.IsZero() {
		return false
	}
	if t, why := retried(s, r); t != nil {
		return why != "" && s.Open == nil && len(s.Inbox.Waiting) == 0
	}
	// What was put on some message before anything was asked was not meant for it.
	return slices.ContainsFunc(s.PendingCalls(), func(c *thread.Call) bool {
		return c.Card.In > 0 && c.Card.In < seq && (slices.Contains(c.Asked.Rules.Approve, r.Emoji) || slices.Contains(c.Asked.Rules.Deny, r.Emoji))
	})
}

// repeatsVote says whether a reaction counted already, towards what was decided since: a
// look found it, and then the platform told of it too, or the other way round. Whoever
// put it is not told that it came too late.
func repeatsVote(c *thread.Call, r memory.Reaction, is memory.Verdict) bool {
	if c.Decided == nil || r.Button || r.Grant != nil {
		return false
	}
	counted := c.Standing()
	if is == memory.Deny {
		counted = c.Votes.Given
	}
	return slices.ContainsFunc(counted, func(v memory.Vote) bool {
		return v.By.ID == r.By.ID && v.Emoji == r.Emoji && v.Verdict == is && !v.Button
	})
}

// verdictOf is what a reaction on an approval message means.
func verdictOf(s *thread.Thread, r memory.Reaction) memory.Verdict {
	c := s.Posts.Cards[r.On]
	switch {
	case c == nil:
		return memory.Nothing
	case slices.Contains(c.Asked.Rules.Deny, r.Emoji) && !r.Removed:
		return memory.Deny
	case !slices.Contains(c.Asked.Rules.Approve, r.Emoji):
		return memory.Nothing
	case r.Removed:
		return memory.Withdraw
	}
	return memory.Approve
}

// membershipRules lists the memberships on which a reaction hangs.
func membershipRules(s *thread.Thread, r thread.Reaction) []string {
	c := s.Posts.Cards[r.On]
	if c == nil || c.Decided != nil || r.Removed || r.By.Bot {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.ApproversAt(r.At)), func(rule string) bool { return !IsGroup(rule) })
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
	v := memory.Vote{Reaction: j.Seq, By: r.By, Emoji: r.Emoji, Verdict: verdictOf(s, r), Button: r.Button, Grant: r.Grant}
	c := s.Posts.Cards[r.On]
	if c != nil {
		v.Call = c.ID
		if c.Asked != nil {
			v.Rules = c.WiderAt(j.At)
		}
	}
	if _, v.Reason = retried(s, r); v.Reason == "" {
		v.Reason = whyIgnored(s, c, v, r.Reaction, j.At, member)
	}
	v.Counts = v.Reason == ""
	return v
}

// whyIgnored says why a vote does not count; "" when it does.
func whyIgnored(s *thread.Thread, c *thread.Call, v memory.Vote, r chat.Reaction, at time.Time, member Member) string {
	switch {
	case c == nil:
		return "this message asks for no approval"
	case v.By.Bot:
		return "a bot's reaction never counts"
	case v.By.Barred != "" && (v.Verdict != memory.Deny || c.Asked.Requester.ID != v.By.ID):
		return v.By.Barred
	case c.Decided != nil:
		return "it is already decided: " + string(c.Decided.Outcome)
	case c.Result != nil || c.Turn.Ended || c.Turn.Stopped != nil || c.Turn.Failed != nil:
		return "the call is over"
	case !at.Before(c.Deadline()):
		return "the time to decide is over"
	case c.Stale(v.Reaction, r) && v.Verdict == memory.Approve:
		return "the arguments were changed; look at the card again, and take your reaction back before you put it anew"
	case v.Grant != nil && refusesGrant(c) != "":
		return refusesGrant(c)
	case v.Verdict == memory.Withdraw:
		return notStanding(c, v)
	}
	return ineligible(c, v, at, member)
}

func notStanding(c *thread.Call, v memory.Vote) string {
	counted := slices.ContainsFunc(c.Standing(), func(o memory.Vote) bool {
		return o.By.ID == v.By.ID && o.Emoji == v.Emoji
	})
	if counted {
		return ""
	}
	return "there was no approval to take back"
}

// ineligible says why a person may not decide; "" when they may. An excluded
// requester may still deny.
func ineligible(c *thread.Call, v memory.Vote, at time.Time, member Member) string {
	if excludes(c, v.By.ID) {
		if v.Verdict == memory.Deny && v.By.ID == c.Asked.Requester.ID {
			return ""
		}
		if v.Verdict == memory.Approve {
			return "somebody who did not ask for it has to approve"
		}
	}
	doubt := false
	for _, rule := range c.ApproversAt(at) {
		ok, err := matches(c, rule, v.By.ID, member)
		if err != nil {
			doubt = true
		} else if ok {
			return ""
		}
	}
	if doubt {
		return "it could not be checked whether you may decide; try again"
	}
	return "only these may decide: " + strings.Join(c.ApproversAt(at), ", ")
}

func matches(c *thread.Call, rule string, who chat.UserID, member Member) (bool, error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch kind {
	case chat.Anyone:
		return true, nil
	case chat.Requester:
		return who == c.Asked.Requester.ID, nil
	case "user":
		return string(who) == id, nil
	case "group", "role":
		return member(rule)
	}
	return false, nil
}
