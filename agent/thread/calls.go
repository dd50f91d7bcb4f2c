package thread

import (
	"encoding/json"
	"slices"
	"time"

	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Digest names the tool and exactly these arguments.
func (c *Call) Digest() string {
	if c.digest == "" {
		c.digest = args.Digest(c.Tool, json.RawMessage(c.Args))
	}
	return c.digest
}

// Bind gives the digest that an approval is bound to, and computes it once.
func (c *Call) Bind(digest func(*Call) string) string {
	if c.bound == "" {
		c.bound = digest(c)
	}
	return c.bound
}

// With is the call with other arguments.
func (c *Call) With(object string) *Call {
	next := *c
	next.Args, next.digest, next.bound = object, "", ""
	next.Preview.Bound = next.Preview.ByArgs[next.Digest()]
	return &next
}

// Wrote is the arguments that the model wrote, before changes by people.
func (c *Call) Wrote() string {
	for _, k := range c.Step.Step.Calls {
		if k.ID == c.ID {
			return k.Args
		}
	}
	return c.Args
}

// Shown is the arguments as people approve them: in their one canonical form, where an
// escape stands for a character of the value.
func (c *Call) Shown() string { return string(args.Canonical(json.RawMessage(c.Args))) }

// Editors lists the people who changed the call.
func (c *Call) Editors() []chat.User {
	var out []chat.User
	for _, b := range c.Edits.Made {
		if !chat.Includes(out, b.By.ID) {
			out = append(out, b.By)
		}
	}
	return out
}

// Pending says whether the call waits for people.
func (c *Call) Pending() bool {
	return c.Asked != nil && c.Decided == nil && c.Result == nil
}

// Deadline is when the time to decide is over.
func (c *Call) Deadline() time.Time { return c.Ask.At.Add(c.Asked.Rules.Timeout) }

// Standing lists the approvals that were not taken back.
func (c *Call) Standing() []memory.Vote {
	var out []memory.Vote
	for _, v := range c.Votes.Given {
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

// TurnedDown says whether the call may not run: it was denied, cancelled, or expired.
func (c *Call) TurnedDown() bool {
	return c.Decided != nil && c.Decided.Outcome != chat.Approved
}

// Dropped says whether the call was approved and ended without having begun.
func (c *Call) Dropped() bool {
	return c.Decided != nil && !c.TurnedDown() && !c.Started && c.Result != nil && c.Result.State != chat.CallDone && c.Result.State != chat.CallUnknown
}

// ExplainWithin is how long a turn waits for the reason of a denial.
const ExplainWithin = time.Minute

// Explained says whether the person who denied the call may still be writing the reason.
func (c *Call) Explained(now time.Time) bool {
	return c.Votes.Button && c.TurnedDown() && c.Decided.Outcome == chat.Denied && c.Reason() == nil && now.Before(c.Votes.Ended.Add(ExplainWithin))
}

// endReasons ends the wait for the reasons of a person who writes something else.
func (s *Thread) endReasons(m *Message) {
	if s.Open == nil {
		return
	}
	for c := range s.Open.EachCall() {
		if c.Explained(m.At) && chat.Includes(c.Decided.By, m.From.ID) {
			c.Votes.Reasons = append(c.Votes.Reasons, memory.Reason{Call: c.ID, By: m.From})
		}
	}
}

// Reason is the reason of a denial, by the person who denied. Reasons of others count for
// nothing.
func (c *Call) Reason() *memory.Reason {
	if c.Decided == nil || c.Decided.Outcome != chat.Denied {
		return nil
	}
	for i, r := range c.Votes.Reasons {
		if chat.Includes(c.Decided.By, r.By.ID) {
			return &c.Votes.Reasons[i]
		}
	}
	return nil
}

// Unsettled says whether the call waits for people or for its outcome.
func (c *Call) Unsettled() bool {
	return c.Result == nil && (c.Pending() || c.Started || c.Run.Handle != nil || c.Votes.Button)
}

// WaitsToBegin says whether the call was approved and did not begin.
func (c *Call) WaitsToBegin() bool {
	return c.Asked != nil && c.Decided != nil && c.Decided.Outcome == chat.Approved && !c.Started && c.Result == nil
}

// FromOutside says whether strangers wrote the result of the call.
func (c *Call) FromOutside() bool {
	return c.Result != nil && c.Result.Origin == Outside || c.Run.Late != nil && c.Run.Late.Origin == Outside
}

// Origins of results.
const (
	Outside = "outside"
	Inside  = "inside"
)

// InARow counts how often the same call came in a row, up to and with this one.
func (s *Thread) InARow(c *Call) int {
	n, digest := 0, c.Digest()
	for _, st := range c.Turn.Steps {
		if st.Branch != c.Step.Branch {
			continue
		}
		for _, k := range st.Calls {
			if k.Digest() == digest {
				n++
			} else {
				n = 0
			}
			if k == c {
				return n
			}
		}
	}
	return n
}

// Replaced says whether people replaced exactly this call by another in this turn.
func (s *Thread) Replaced(c *Call) bool {
	digest := c.Digest()
	for k := range c.Turn.EachCall() {
		if k != c && slices.Contains(k.Edits.Was, digest) {
			return true
		}
	}
	return c.Turn.replacedBefore(digest)
}
