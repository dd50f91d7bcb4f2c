// Package approval says who may decide about a call, and what was decided: votes, quorum,
// changes of the arguments, grants, clocks, and when people are asked again ([Case]).
//
// It returns entries to record, and refuses whatever is in doubt. It posts nothing.
package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nod/agent/policy"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Case judges the approvals of a thread.
type Case struct {
	Thread *thread.Thread
	Tools  policy.Set
	Taint  taint.Watch
	Key    []byte                   // of the digests that stand in logs and on cards
	Clock  time.Time                // of the store, at the claim
	Since  uint64                   // Seq of the first entry that came by this claim
	Self   string                   // this process
	Silent map[string]time.Duration // for how long nothing was heard of another

	Schedules policy.Schedules
	Zone      func(chat.User) string // in which somebody's times are meant
}

// Now is the time, as far as the log or the claim tell it.
func (k Case) Now() time.Time {
	if k.Clock.After(k.Thread.Now) {
		return k.Clock
	}
	return k.Thread.Now
}

// Decide ends the first approval that its votes decide.
func (k Case) Decide() []memory.Body {
	for _, c := range k.Thread.PendingCalls() {
		if outcome, by := Tally(c); outcome != "" {
			bodies := []memory.Body{memory.Decided{Call: c.ID, Outcome: outcome, By: by, Rules: c.WiderAt(k.Thread.Now)}}
			if g, ok := newGrant(c, k.Thread.Now); ok && outcome == chat.Approved {
				bodies = append(bodies, g)
			}
			return bodies
		}
		if c.Ask.Deserted {
			return []memory.Body{memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: reasonDeserted, Rules: c.WiderAt(k.Thread.Now)}}
		}
		if c.Card.Hidden { // nobody can approve unseen arguments
			return []memory.Body{memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "the changed arguments could not be shown", Rules: c.WiderAt(k.Thread.Now)}}
		}
	}
	return nil
}

// reasonDeserted is why a call is cancelled whose approvers have left.
const reasonDeserted = "nobody is here to approve"

// Expire ends the approvals whose deadline has passed. Calls of a schedule's turn are
// cancelled once a person has waited for long behind it.
func (k Case) Expire() (bodies []memory.Body) {
	at, ok := k.CrowdedAt()
	crowded := ok && !k.Thread.Now.Before(at)
	for _, c := range k.Thread.PendingCalls() {
		switch {
		case crowded:
			bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: "somebody has waited 30 min for an answer"})
		case !k.Thread.Now.Before(c.Deadline()):
			bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Expired, Rules: c.WiderAt(k.Thread.Now)})
		}
	}
	return bodies
}

// mostBehind is how long a person waits behind an approval of a schedule.
const mostBehind = 30 * time.Minute

// CrowdedAt is when a person has waited that long.
func (k Case) CrowdedAt() (at time.Time, ok bool) {
	t := k.Thread.Open
	if t == nil || t.Slot == nil || t.LastStep() == nil || len(k.Thread.PendingCalls()) == 0 {
		return at, false
	}
	for _, m := range append(t.Asked(), k.Thread.Inbox.Waiting...) {
		if m.Seq > t.LastStep().Seen && m.Slot == nil && !m.Aside && !m.From.Bot {
			return m.At.Add(mostBehind), true
		}
	}
	return at, false
}

// Clocks notes the clocks that strike.
func (k Case) Clocks() (bodies []memory.Body) {
	due := func(at time.Time) bool { return !at.IsZero() && !k.Thread.Now.Before(at) }
	for _, c := range k.Thread.PendingCalls() {
		if due(c.EscalateAt()) {
			bodies = append(bodies, memory.Escalated{Call: c.ID, Approvers: c.Asked.Rules.Escalate.Approvers})
		}
		if due(c.RemindAt()) {
			bodies = append(bodies, memory.Reminded{Call: c.ID})
		}
	}
	return bodies
}

// Tally counts the votes. One denial decides; else enough different people have to stand
// by an approval, who may approve now.
func Tally(c *thread.Call) (chat.Outcome, []chat.User) {
	for _, v := range c.Votes.Given {
		if v.Verdict == memory.Deny {
			return chat.Denied, []chat.User{v.By}
		}
	}
	by := SoFar(c)
	if len(by) >= max(1, c.Asked.Rules.Quorum) {
		return chat.Approved, by
	}
	return "", nil
}

// SoFar lists the people whose approvals count while the call waits.
func SoFar(c *thread.Call) []chat.User { return approvers(c, c.Standing()) }

// approvers lists the people behind approvals, each once. People who wrote into the turn
// since may be excluded.
func approvers(c *thread.Call, standing []memory.Vote) []chat.User {
	var by []chat.User
	for _, v := range standing {
		if !chat.Includes(by, v.By.ID) && !excludes(c, v.By.ID) {
			by = append(by, v.By)
		}
	}
	return by
}

// excludes says whether a person may not approve, since the call came of their own words.
func excludes(c *thread.Call, who chat.UserID) bool {
	if !c.Asked.Rules.ExcludeRequester {
		return false
	}
	return who == c.Asked.Requester.ID || slices.ContainsFunc(c.Edits.Made, func(b memory.Changed) bool { return b.By.ID == who }) ||
		c.Turn.Spoke(who) || slices.Contains(c.Asked.Shown, who)
}

// Bound names what an approval is bound to: the tool with its definition, exactly these
// arguments, and the outcome of the preview. The digest is keyed, since it stands in logs,
// and most calls could be guessed.
func (k Case) Bound(c *thread.Call) string {
	return c.Bind(k.digest)
}

func (k Case) digest(c *thread.Call) string { return k.digestAs(c, k.defined(c.Tool)) }

// digestAs is the digest of a call whose tool was so defined.
func (k Case) digestAs(c *thread.Call, defined string) string {
	parts := []string{c.Tool, defined, string(args.Canonical(json.RawMessage(c.Args)))}
	if c.Preview.Bound != nil {
		parts = append(parts, c.Preview.Bound.Sum)
	}
	return k.mac(parts...)
}

// defined is a digest of a tool's definition.
func (k Case) defined(name string) string {
	tool, _ := k.Tools.Find(name)
	return k.mac(tool.Description, string(args.Canonical(tool.Parameters)), tool.Definition)[:32]
}

func (k Case) mac(parts ...string) string {
	h := hmac.New(sha256.New, k.Key)
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash never returns an error
	}
	return hex.EncodeToString(h.Sum(nil))
}

// intact says whether a call is the one that was shown, but for what its tool is by now.
// Somebody may have changed it in the store.
func (k Case) intact(c *thread.Call) bool {
	return c.Asked.Digest == k.Bound(c) || c.Asked.Digest == k.digestAs(c, c.Asked.Defined) && c.Asked.Defined != k.defined(c.Tool)
}
