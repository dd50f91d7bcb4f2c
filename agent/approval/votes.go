package approval

import (
	"slices"
	"strings"
	"time"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Member answers whether a person is in a group or role. An error means that it could not
// be found out.
type Member func(rule string) (bool, error)

// NextVote finds the next reaction that has to be judged. Among reactions that were found
// together, denials come first, so that a denial wins.
func NextVote(s *thread.Thread) (pick thread.Reaction, ok bool) {
	meant := slices.DeleteFunc(slices.Clone(s.Inbox.Reacts), func(r thread.Reaction) bool { return !meansVote(s, r.Reaction, r.Seq) })
	if len(meant) == 0 {
		return pick, false
	}
	pick = meant[0]
	if pick.Found {
		for _, r := range meant {
			if r.Found && verdictOf(s, r.Reaction) == memory.Deny {
				pick = r
				break
			}
		}
	}
	return pick, true
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
	if t, why := Retried(s, r); t != nil {
		return why != "" && s.Open == nil && len(s.Inbox.Waiting) == 0
	}
	// A reaction from before the approval was not meant for it.
	return slices.ContainsFunc(s.PendingCalls(), func(c *thread.Call) bool {
		return c.Card.In > 0 && c.Card.In < seq && (slices.Contains(c.Asked.Rules.Approve, r.Emoji) || slices.Contains(c.Asked.Rules.Deny, r.Emoji))
	})
}

// repeatsVote says whether a reaction counted already: a look found it, and the platform
// told of it too. Its author is not told that it came too late.
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

// verdictOf is the meaning of a reaction on a card.
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

// MembershipRules lists the groups and roles that decide whether a reaction counts.
func MembershipRules(s *thread.Thread, r thread.Reaction) []string {
	c := s.Posts.Cards[r.On]
	if c == nil || c.Decided != nil || r.Removed || r.By.Bot {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.ApproversAt(r.At)), func(rule string) bool { return !policy.IsGroup(rule) })
}

// Vote judges a reaction. In doubt it does not count.
func Vote(s *thread.Thread, r thread.Reaction, member Member) memory.Vote {
	v := memory.Vote{Reaction: r.Seq, By: r.By, Emoji: r.Emoji, Verdict: verdictOf(s, r.Reaction), Button: r.Button, Grant: r.Grant}
	c := s.Posts.Cards[r.On]
	if c != nil {
		v.Call = c.ID
		if c.Asked != nil {
			v.Rules = c.WiderAt(r.At)
		}
	}
	if _, v.Reason = Retried(s, r.Reaction); v.Reason == "" {
		v.Reason = whyIgnored(c, cast{v, r.Reaction.Reaction, r.At}, member)
	}
	v.Counts = v.Reason == ""
	return v
}

// cast is a vote, the reaction that it is, and when it was given.
type cast struct {
	memory.Vote
	on chat.Reaction
	at time.Time
}

// whyIgnored says why a vote does not count; "" when it does.
func whyIgnored(c *thread.Call, v cast, member Member) string {
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
	case !v.at.Before(c.Deadline()):
		return "the time to decide is over"
	case c.Stale(v.Reaction, v.on) && v.Verdict == memory.Approve:
		return "the arguments were changed; look at the card again, and take your reaction back before you put it anew"
	case v.Grant != nil && refusesGrant(c) != "":
		return refusesGrant(c)
	case v.Verdict == memory.Withdraw:
		return notStanding(c, v.Vote)
	}
	if why := ineligible(c, v.Vote, v.at, member); why != "" || v.Verdict != memory.Approve {
		return why
	}
	return wrongWay(c.Asked.Rules.By, v.on.Way)
}

// wrongWay says why an approval that is given in a way does not count; "" when it does.
func wrongWay(ways []chat.Way, way chat.Way) string {
	switch {
	case way.Approves(ways):
		return ""
	case chat.ByButton.Approves(ways):
		return "this call needs a click on Approve"
	case chat.ByWord.Approves(ways):
		return "this call needs the word y with its number"
	}
	return "this call needs a reaction"
}

// notStanding says why an approval can't be taken back; "" when it can.
func notStanding(c *thread.Call, v memory.Vote) string {
	counted := slices.ContainsFunc(c.Standing(), func(o memory.Vote) bool {
		return o.By.ID == v.By.ID && o.Emoji == v.Emoji
	})
	if counted {
		return ""
	}
	return "there was no approval to take back"
}

// ineligible says why a person may not decide; "" when they may. An excluded requester may
// still deny.
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

// matches says whether a rule names a person.
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

// A member of a group may have left it before the quorum is reached. So each new approval
// has the standing ones looked up again.

// OtherApprovers lists the other approvers of the call that a reaction is on, where a
// membership decides.
func OtherApprovers(s *thread.Thread, r thread.Reaction) []chat.User {
	c := s.Posts.Cards[r.On]
	if c == nil || verdictOf(s, r.Reaction) != memory.Approve || len(MembershipRules(s, r)) == 0 {
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

// LapsedVotes withdraws the votes of people who may not decide any more, or whose
// membership could not be looked up.
func LapsedVotes(s *thread.Thread, r thread.Reaction, others map[chat.UserID]Member) []memory.Body {
	c := s.Posts.Cards[r.On]
	if c == nil || c.Decided != nil || c.Result != nil {
		return nil
	}
	var out []memory.Body
	for _, v := range c.Standing() {
		member, looked := others[v.By.ID]
		if !looked {
			continue
		}
		if why := ineligible(c, v, r.At, member); why != "" {
			out = append(out, memory.Vote{Call: c.ID, By: v.By, Emoji: v.Emoji, Verdict: memory.Withdraw, Counts: true, Reason: why})
		}
	}
	return out
}

// Retried is the turn that a reaction wants another try of, and why there is none; nil for
// any other reaction.
func Retried(s *thread.Thread, r memory.Reaction) (t *thread.Turn, why string) {
	if r.Emoji != chat.EmojiRetry || r.Removed || r.By.Bot {
		return nil, ""
	}
	t = s.AnsweredBy(r.On)
	switch {
	case t == nil:
		return nil, ""
	case r.By.Barred != "":
		return t, r.By.Barred
	case r.By.ID != t.Requester.ID:
		return t, "only " + t.Requester.Display() + ", who asked, can have this tried again"
	case t != s.Turns[len(s.Turns)-1]:
		return t, "there is something newer in this thread; ask again there"
	}
	return t, ""
}

// Voter is a person who may have something to decide.
type Voter struct {
	chat.User
	At     time.Time
	Member Member
}

// Waits gives the approval of a call, if it waits for this person: they may approve it
// now, by the same judge as a vote, and have not yet.
func (v Voter) Waits(s *thread.Thread, call string) (chat.Waits, bool) {
	c := s.Calls[call]
	if c == nil || c.Asked == nil || c.Card.Ref.IsZero() {
		return chat.Waits{}, false
	}
	did := slices.ContainsFunc(c.Standing(), func(o memory.Vote) bool { return o.By.ID == v.ID })
	now := memory.Vote{Reaction: s.Last, By: v.User, Verdict: memory.Approve}
	if did || whyIgnored(c, cast{now, chat.Reaction{On: c.Card.Ref}, v.At}, v.Member) != "" {
		return chat.Waits{}, false
	}
	return chat.Waits{Ref: c.Card.Ref, Number: c.Asked.Number, Tool: c.Tool, Requester: c.Asked.Requester, Deadline: c.Deadline()}, true
}
