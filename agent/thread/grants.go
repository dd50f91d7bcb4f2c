package thread

import (
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// A grant is an approval that holds for a while: the same tool with the same arguments
// needs no other approval in this thread, for a time and a number of uses. Approvers give
// it with the word `allow`; as many people have to as the approval needs.
//
// A use is an entry, so that only one of two processes can have the last use. It counts by
// its own time and place in the log. In doubt, and with content from outside in the
// prompt, the call asks as if there were no grant.

// Grant is a grant, and how much of it is left.
type Grant struct {
	memory.Granted
	Until time.Time
	used  int
	over  bool // somebody revoked it
}

// Left is how many uses are left.
func (g *Grant) Left() int { return g.Uses - g.used }

// Holds says whether the grant can be used at that time.
func (g *Grant) Holds(now time.Time) bool {
	return !g.over && g.Left() > 0 && now.Before(g.Until)
}

// useGrant takes the use of a grant. A use that came too late, or once too often, has the
// call ask.
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

// Grant finds a grant by the number of its approval.
func (s *Thread) Grant(number int) *Grant {
	return first(s.Approvals.Grants, func(g *Grant) bool { return g.Number == number })
}

// RunsGranted says whether the call may run under a grant, which held when the call began.
func (c *Call) RunsGranted(now time.Time) bool {
	return c.Use.Grant != nil && (c.Started || !c.Use.Grant.over && now.Before(c.Use.Grant.Until))
}

// keepGrant keeps a grant, unless it is there.
func (s *Thread) keepGrant(k memory.Carried) {
	if s.Grant(k.Granted.Number) == nil {
		s.Approvals.Grants = append(s.Approvals.Grants, &Grant{Granted: k.Granted, Until: k.Until, used: k.Used})
	}
}

func (s *Thread) revokeGrant(by chat.User, arg string) {
	n, _ := strconv.Atoi(arg)
	if g := s.Grant(n); g != nil && !g.over {
		g.over = true
		s.Approvals.Revokes = append(s.Approvals.Revokes, memory.Revoked{Grant: n, Tool: g.Tool, Digest: g.Digest, By: by})
	}
}

// carriedGrants lists the grants that a trimmed log has to keep.
func (s *Thread) carriedGrants() (out []memory.Carried) {
	for _, g := range s.Approvals.Grants {
		if g.Holds(s.Now) {
			out = append(out, memory.Carried{Granted: g.Granted, Until: g.Until, Used: g.used})
		}
	}
	return out
}
