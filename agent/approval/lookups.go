package approval

import (
	"errors"
	"slices"
	"time"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// The platform is asked about people at the time of the judgement, wherever they voted. It
// may be slow, and any number of strangers may vote. So the rules judge what they can
// first, and one look-up serves all votes that wait for it.

// Known is what the platform said of a person a moment ago.
type Known struct {
	User   chat.User             // Barred where they may not decide
	Asked  bool                  // their account was looked up
	Err    error                 // that failed
	Groups map[string]Membership // by rule, as far as they were asked for
}

// Membership says whether a person is in a group or role. Err says that this could not be
// found out.
type Membership struct {
	In  bool
	Err error
}

// Member is the Member of this person.
func (k Known) Member(rule string) (bool, error) {
	m, asked := k.Groups[rule]
	if !asked {
		return false, errors.New("it was not looked up")
	}
	return m.In && m.Err == nil, m.Err
}

// Facts are what the platform said of people.
type Facts map[chat.UserID]Known

// Ask names look-ups.
type Ask struct {
	People []chat.User // their accounts
	Among  []chat.User // their groups, and the accounts of those who are in one
	Rules  []string    // the groups: group:ID, role:ID
}

// mostAccounts is how many votes are looked up at once where each costs a look-up.
const mostAccounts = 16

// need is the look-up that a vote needs; the cheaper ones come first.
type need int

const (
	nothing need = iota // the rules tell
	named               // the account of a person whom the rules name
	anybody             // the account of any person
	inGroup             // a membership
)

// NextVote finds the next reaction to judge. If known facts are not enough for any, it
// gives the look-ups for the cheapest ones, and the first of these. No approval overtakes a
// denial or a withdrawal, none of these an approval, and no vote an earlier one of the same
// person.
func NextVote(s *thread.Thread, known Facts) (pick thread.Reaction, ask Ask, ok bool) {
	type queue struct {
		on *thread.Call
		of chat.UserID    // "": of all who gave the same verdict
		is memory.Verdict // "": any
	}
	contrary := map[memory.Verdict][]memory.Verdict{
		memory.Approve: {memory.Deny, memory.Withdraw}, memory.Deny: {memory.Approve}, memory.Withdraw: {memory.Approve},
	}
	least, held := inGroup+1, map[queue]need{}
	for _, r := range votesInOrder(s) {
		c, own := s.Posts.Cards[r.On], needs(s, r)
		is, n := verdictOf(s, r.Reaction), held[queue{on: c, of: r.By.ID}]
		for _, other := range contrary[is] {
			if own != nothing || is == memory.Withdraw {
				n = max(n, held[queue{on: c, is: other}])
			}
		}
		if is == memory.Approve && c != nil && takenBack(s, c, voteOf(s, r)) {
			n = max(n, held[queue{on: c, is: is}]) // earlier ones may have decided by then
		}
		if n == nothing && (own == nothing || known.suffice(s, r)) {
			return r, Ask{}, true
		}
		n = max(n, own)
		held[queue{on: c, of: r.By.ID}], held[queue{on: c, is: is}] = n, max(n, held[queue{on: c, is: is}])
		if n < least {
			least, pick, ask = n, r, Ask{}
		}
		if n == least && len(ask.People) < mostAccounts {
			for _, u := range concerned(s, r) {
				ask.add(c, u, r.At)
			}
		}
	}
	return pick, ask, least <= inGroup
}

// votesInOrder lists the reactions that have to be judged. Among reactions that were found
// together, denials come first, so that a denial wins.
func votesInOrder(s *thread.Thread) []thread.Reaction {
	out := slices.DeleteFunc(slices.Clone(s.Inbox.Reacts), func(r thread.Reaction) bool { return !meansVote(s, r.Reaction, r.Seq) })
	if len(out) > 0 && out[0].Found {
		rank := func(r thread.Reaction) int {
			if r.Found && verdictOf(s, r.Reaction) == memory.Deny {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(out, func(a, b thread.Reaction) int { return rank(a) - rank(b) })
	}
	return out
}

// needs says what has to be looked up before a reaction is judged.
func needs(s *thread.Thread, r thread.Reaction) need {
	v := voteOf(s, r)
	always := func(string) (bool, error) { return true, nil }
	if v.Verdict == memory.Withdraw || ignored(s, r, v, always) != "" {
		return nothing
	}
	return max(named, needOf(s.Posts.Cards[r.On], v.By.ID, r.At))
}

// needOf is the look-up by which a person may decide a call; nothing where no rule can mean
// them.
func needOf(c *thread.Call, who chat.UserID, at time.Time) need {
	least := inGroup + 1
	for _, rule := range c.ApproversAt(at) {
		in, _ := matches(c, rule, who, func(string) (bool, error) { return false, nil })
		switch {
		case rule == chat.Anyone:
			least = min(least, anybody)
		case in:
			least = min(least, named)
		case policy.IsGroup(rule):
			least = min(least, inGroup)
		}
	}
	if least > inGroup {
		return nothing
	}
	return least
}

// concerned lists the people who are looked up for a vote: its author, and for an approval
// also those who approved before. A member may have left, or lost their account.
func concerned(s *thread.Thread, r thread.Reaction) []chat.User {
	out := []chat.User{r.By}
	if c := s.Posts.Cards[r.On]; c != nil && verdictOf(s, r.Reaction) == memory.Approve {
		for _, v := range c.Standing() {
			if !chat.Includes(out, v.By.ID) {
				out = append(out, v.By)
			}
		}
	}
	return out
}

// add asks for a person as far as a call needs it.
func (a *Ask) add(c *thread.Call, u chat.User, at time.Time) {
	if needOf(c, u.ID, at) != inGroup {
		if !chat.Includes(a.People, u.ID) {
			a.People = append(a.People, u)
		}
		return
	}
	if !chat.Includes(a.Among, u.ID) {
		a.Among = append(a.Among, u)
	}
	for _, rule := range c.ApproversAt(at) {
		if policy.IsGroup(rule) && !slices.Contains(a.Rules, rule) {
			a.Rules = append(a.Rules, rule)
		}
	}
}

// suffice says whether the facts are enough to judge a vote.
func (known Facts) suffice(s *thread.Thread, r thread.Reaction) bool {
	c := s.Posts.Cards[r.On]
	return !slices.ContainsFunc(concerned(s, r), func(u chat.User) bool {
		k := known[u.ID]
		if needOf(c, u.ID, r.At) != inGroup {
			return !k.Asked
		}
		return slices.ContainsFunc(c.ApproversAt(r.At), func(rule string) bool {
			m, asked := k.Groups[rule]
			return policy.IsGroup(rule) && (!asked || m.In && !k.Asked)
		})
	})
}

// Vote judges a reaction by what is known. In doubt it does not count.
func Vote(s *thread.Thread, r thread.Reaction, known Facts) memory.Vote {
	v, k := voteOf(s, r), known[r.By.ID]
	if k.Asked && k.Err == nil {
		v.By = k.User
	}
	v.Reason = ignored(s, r, v, k.Member)
	if v.Reason == "" && needs(s, r) != nothing && (!k.Asked || k.Err != nil) {
		v.Reason = textDoubt
	}
	v.Counts = v.Reason == ""
	return v
}

// Lapsed withdraws the earlier approvals of people who may not decide any more, or whose
// account could not be looked up, as a vote comes in that counts beside them.
func Lapsed(s *thread.Thread, v memory.Vote, at time.Time, known Facts) (out []memory.Vote) {
	c := s.Calls[v.Call]
	if c == nil || v.Verdict != memory.Approve || !v.Counts {
		return nil
	}
	for _, o := range c.Standing() {
		k := known[o.By.ID]
		var why string
		switch {
		case o.By.ID == v.By.ID, excludes(c, o.By.ID): // who is excluded is not counted anyway
			continue
		case k.Err != nil:
			why = textDoubt
		case k.User.Barred != "":
			why = k.User.Barred
		default:
			why = ineligible(c, o, at, k.Member)
		}
		if why != "" {
			out = append(out, memory.Vote{Call: c.ID, By: o.By, Emoji: o.Emoji, Verdict: memory.Withdraw, Counts: true, Reason: why})
		}
	}
	return out
}
