package approval

import (
	"slices"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Member answers whether a person is in a group or role. An error means that it could not
// be found out.
type Member func(rule string) (bool, error)

// meansVote says whether a reaction has to be judged at all.
func meansVote(s *thread.Thread, r memory.Reaction, seq uint64) bool {
	if c := s.Posts.Cards[r.On]; c != nil {
		v := verdictOf(s, r)
		if r.Found && v == memory.Approve && c.Pending() && s.OnItsWay(c) {
			return false // a denial may stand on that card
		}
		return v != memory.Nothing && !repeatsVote(c, r, v)
	}
	if r.Removed || r.On.IsZero() {
		return false
	}
	if t, why := Retried(s, r); t != nil {
		return why != "" && s.Open == nil && len(s.Inbox.Waiting) == 0
	}
	if slices.ContainsFunc(s.PendingCalls(), s.OnItsWay) {
		return false // the message may be that card
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

// voteOf is a reaction as a vote that is not judged.
func voteOf(s *thread.Thread, r thread.Reaction) memory.Vote {
	v := memory.Vote{Reaction: r.Seq, By: r.By, Emoji: r.Emoji, Verdict: verdictOf(s, r.Reaction), Button: r.Button, Grant: r.Grant}
	if c := s.Posts.Cards[r.On]; c != nil {
		v.Call = c.ID
		if c.Asked != nil {
			v.Rules = c.WiderAt(r.At)
		}
	}
	return v
}

// ignored says why a reaction does not count; "" when it does.
func ignored(s *thread.Thread, r thread.Reaction, v memory.Vote, member Member) string {
	if _, why := Retried(s, r.Reaction); why != "" {
		return why
	}
	c := s.Posts.Cards[r.On]
	if c != nil && v.Verdict == memory.Approve && takenBack(s, c, v) {
		return "it was taken back"
	}
	return whyIgnored(c, cast{v, r.Reaction.Reaction, r.At}, member)
}

// takenBack says whether an approval was taken back before the quorum was reached, although
// that is not judged yet.
func takenBack(s *thread.Thread, c *thread.Call, v memory.Vote) bool {
	earlier := slices.DeleteFunc(c.Standing(), func(o memory.Vote) bool { return o.Reaction > v.Reaction })
	return c.Asked != nil && len(approvers(c, append(earlier, v))) < max(1, c.Asked.Rules.Quorum) &&
		slices.ContainsFunc(s.Inbox.Reacts, func(o thread.Reaction) bool {
			return o.Seq > v.Reaction && o.Removed && o.By.ID == v.By.ID && o.Emoji == v.Emoji && s.Posts.Cards[o.On] == c
		})
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
	if v.on.Way == chat.ByCode && v.on.Digest != c.Asked.Digest {
		return TextChanged
	}
	return wrongWay(c.Asked.Rules.By, v.on.Way)
}

// NeedsCode is why nothing but a code approves a call.
const NeedsCode = "Press Approve: this call needs a code"

// TextChanged refuses a form that was opened before the arguments were changed.
const TextChanged = "somebody else has changed it meanwhile; look at the card again"

// wrongWay says why an approval that is given in a way does not count; "" when it does.
func wrongWay(ways []chat.Way, way chat.Way) string {
	switch {
	case way.Approves(ways):
		return ""
	case chat.NeedsCode(ways):
		return NeedsCode
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

const textDoubt = "it could not be checked whether you may decide; try again"

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
		return textDoubt
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
	by := chat.Reaction{On: c.Card.Ref, Digest: c.Asked.Digest}
	if ways := c.Asked.Rules.By; len(ways) > 0 {
		by.Way = ways[0]
	}
	if did || whyIgnored(c, cast{now, by, v.At}, v.Member) != "" {
		return chat.Waits{}, false
	}
	return chat.Waits{Ref: c.Card.Ref, Number: c.Asked.Number, Tool: c.Tool, Requester: c.Asked.Requester, Deadline: c.Deadline()}, true
}
