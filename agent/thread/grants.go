package thread

import (
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// A grant is an approval that holds for a while: the same tool with the same
// arguments needs no other one in this thread, for so long and so often. Whoever
// approves gives it, in the word `allow`, and as many different people have to as
// the approval itself needs.
//
// A use is an entry, so that of two processes only one can have the last one; it
// counts by its own time and place in the log, and not by those of the decision
// that led to it. In doubt, and whenever content from outside is in the prompt,
// the call asks as if there were no grant.

// Grant is what is left of one.
type Grant struct {
	memory.Granted
	Until time.Time
	used  int
	over  bool // somebody revoked it
}

func (g *Grant) Left() int { return g.Uses - g.used }

// Holds says whether it can be used now.
func (g *Grant) Holds(now time.Time) bool {
	return !g.over && g.Left() > 0 && now.Before(g.Until)
}

// useGrant takes an entry that a call runs under a grant. One that came too late, or
// too often, has the call ask.
func (s *Thread) useGrant(e memory.Entry, b memory.Used) {
	g, c := s.Grant(b.Grant), s.Calls[b.Call]
	good := g != nil && g.Holds(e.At)
	if good {
		g.used++
	}
	switch {
	case c == nil || c.Asked != nil || c.Use.Grant != nil:
	case good && g.Digest == b.Digest:
		c.Use.Grant = g
	default:
		c.Use.Spent = true
	}
}

// Grant finds a grant by its number, which is that of the approval it came with.
func (s *Thread) Grant(number int) *Grant {
	for _, g := range s.Approvals.Grants {
		if g.Number == number {
			return g
		}
	}
	return nil
}

// RunsGranted says whether the call may run under a grant: that was not revoked, and
// its time was not over, before the call began.
func (c *Call) RunsGranted(now time.Time) bool {
	return c.Use.Grant != nil && (c.Started || !c.Use.Grant.over && now.Before(c.Use.Grant.Until))
}

// takeGrant keeps a grant that began at some time.
func (s *Thread) takeGrant(at time.Time, b memory.Granted) {
	if s.Grant(b.Number) == nil {
		s.Approvals.Grants = append(s.Approvals.Grants, &Grant{Granted: b, Until: at.Add(b.For)})
	}
}

// revokeGrant takes the word `revoke`, which ends a grant at once.
func (s *Thread) revokeGrant(by chat.User, arg string) {
	n, _ := strconv.Atoi(arg)
	if g := s.Grant(n); g != nil && !g.over {
		g.over = true
		s.Approvals.Revokes = append(s.Approvals.Revokes, memory.Revoked{Grant: n, Tool: g.Tool, Digest: g.Digest, By: by})
	}
}

// carriedGrants are the grants that a trimmed log has to keep.
func (s *Thread) carriedGrants() (out []memory.Carried) {
	for _, g := range s.Approvals.Grants {
		if g.Holds(s.Now) {
			out = append(out, memory.Carried{Granted: g.Granted, Until: g.Until, Used: g.used})
		}
	}
	return out
}

func (s *Thread) takeCarried(list []memory.Carried) {
	for _, k := range list {
		if s.Grant(k.Granted.Number) == nil {
			s.Approvals.Grants = append(s.Approvals.Grants, &Grant{Granted: k.Granted, Until: k.Until, used: k.Used})
		}
	}
}
