package thread

import (
	"time"

	"nod/chat"
	"nod/memory"
)

// Preview is what one came to.
type Preview struct {
	memory.Previewed
	Seq uint64
}

// Digest is what an approval is bound to; "" without a preview.
func (p *Preview) Digest() string {
	if p == nil {
		return ""
	}
	return p.Sum
}

// takePreviewed takes what a preview came to. Before a decision it is what people are
// shown; afterwards it is the look right before the effect.
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
		c.Preview.ByArgs = map[string]*Preview{}
	}
	c.Preview.ByArgs[b.Of] = p
	if mine && c.Asked == nil {
		c.Preview.Bound, c.bound = p, ""
	}
}

// Cleared says whether the call may run, as far as people have their say.
func (c *Call) Cleared(now time.Time) bool {
	return c.Decided != nil && c.Decided.Outcome == chat.Approved || c.Asked == nil && c.RunsGranted(now)
}

// outdate takes that a call is asked for, perhaps since its preview changed.
func (c *Call) outdate(b memory.Asked) {
	if b.Changed {
		c.Preview.Bound, c.Use.Grant, c.Use.Spent = c.Preview.Check, nil, true
		c.Preview.Anew += min(1, b.Again)
	}
	c.Preview.Check, c.bound = nil, ""
}
