package thread

import (
	"time"

	"nod/chat"
	"nod/memory"
)

// Preview is the outcome of one preview.
type Preview struct {
	memory.Previewed
	Seq uint64
}

// Digest is the digest that an approval is bound to; "" without a preview.
func (p *Preview) Digest() string {
	if p == nil {
		return ""
	}
	return p.Sum
}

// takePreviewed takes the outcome of a preview. Before a decision it is shown to people;
// after one it is the check right before the effect.
func (s *Thread) takePreviewed(e memory.Entry, b memory.Previewed) {
	c := s.Calls[b.Call]
	if c == nil || c.Started || c.Result != nil {
		return
	}
	p := &Preview{b, e.Seq}
	mine := b.Of == c.Digest()
	if c.Cleared(e.At) {
		if mine {
			c.Preview.Check = p
		}
		return
	}
	if c.Preview.ByArgs == nil {
		c.Preview.ByArgs, c.Preview.Edits = map[string]*Preview{}, map[chat.UserID]int{}
	}
	if all := s.Approvals.Proposals; !mine && len(all) > 0 && all[0].Call == c { // they are taken in turn
		c.Preview.Edits[all[0].By.ID]++
	}
	c.Preview.ByArgs[b.Of] = p
	if mine && c.Asked == nil {
		c.Preview.Bound, c.bound = p, ""
	}
}

// Cleared says whether the call may run, as far as people decide that.
func (c *Call) Cleared(now time.Time) bool {
	return c.Decided != nil && c.Decided.Outcome == chat.Approved || c.Asked == nil && c.RunsGranted(now)
}

// outdate takes over the latest preview, when the call is asked for since that changed.
func (c *Call) outdate(b memory.Asked) {
	if b.Changed {
		c.Preview.Bound, c.Use.Grant, c.Use.Spent = c.Preview.Check, nil, true
		c.Preview.Anew += min(1, b.Again)
	}
	c.Preview.Check, c.bound = nil, ""
}
