package approval

import (
	"slices"
	"time"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// refusesGrant says why nothing can be allowed for a while; "" when it can.
func refusesGrant(c *thread.Call) string {
	if c.Asked.Rules.Grants.Most <= 0 {
		return "nothing can be allowed for a while here, since `approvals.grants` is off"
	}
	return ""
}

// newGrant is the grant that comes with the approval, if enough of the approvers gave one.
// The shortest of their terms holds.
func newGrant(c *thread.Call, at time.Time) (memory.Granted, bool) {
	caps, rules := c.Asked.Rules.Grants, c.Asked.Rules
	rules.Approvers = c.ApproversAt(at)
	g := memory.Granted{
		Number: c.Asked.Number, Tool: c.Tool, Digest: c.Asked.Digest, Args: c.Args,
		For: caps.Most, Uses: caps.Uses, Rules: rules,
	}
	given := slices.DeleteFunc(c.Standing(), func(v memory.Vote) bool { return v.Grant == nil })
	g.By = approvers(c, given)
	if caps.Most <= 0 || len(g.By) < max(1, c.Asked.Rules.Quorum) {
		return g, false
	}
	for _, v := range given {
		if v.Grant.For > 0 {
			g.For = min(g.For, v.Grant.For)
		}
		if v.Grant.Uses > 0 {
			g.Uses = min(g.Uses, v.Grant.Uses)
		}
	}
	return g, g.Uses > 0
}

// granted finds the grant under which a risky call may run; more counts uses that are not
// in the log yet.
func (k Case) granted(tool policy.Tool, c *thread.Call, more map[int]int) *thread.Grant {
	for _, g := range k.fitting(tool, c) {
		if g.Left() > more[g.Number] && k.stillAllowed(g, tool.Rules, c) {
			return g
		}
	}
	return nil
}

// fitting lists the grants of exactly this call that hold, whoever gave them.
func (k Case) fitting(tool policy.Tool, c *thread.Call) []*thread.Grant {
	if c.Use.Spent || tool.Risk != policy.Ask || tool.Rules.Grants.Most <= 0 || k.Taint.OfCall(c).Source != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(k.Thread.Approvals.Grants), func(g *thread.Grant) bool {
		return g.Tool != c.Tool || g.Digest != k.Bound(c) || !g.Holds(k.Thread.Now) || stricterWays(tool.Rules.By, g.Rules.By)
	})
}

// staleAfter is how long a look-up of memberships is good for the use of a grant.
const staleAfter = time.Minute

// givers lists the people who gave a grant that a call would use, when their groups have
// to be looked up: a person may have left one.
func (k Case) givers(tool policy.Tool, c *thread.Call) (who []chat.UserID, groups []string) {
	if c.Use.Grant != nil {
		return nil, nil
	}
	groups = groupsOf(tool.Rules.AllApprovers())
	if len(groups) == 0 {
		return nil, nil
	}
	fresh := k.Thread.Now.Sub(c.Use.Identified) < staleAfter
	for _, g := range k.fitting(tool, c) {
		for _, u := range g.By {
			fresh = fresh && c.Use.Givers[u.ID].Who != ""
			if !slices.Contains(who, u.ID) {
				who = append(who, u.ID)
			}
		}
	}
	if len(who) == 0 || fresh {
		return nil, nil
	}
	return who, groups
}

// stillAllowed says whether the people who gave a grant are enough for this call under the
// rules of now. Another person may ask for it, and a giver may have left the group.
func (k Case) stillAllowed(g *thread.Grant, rules memory.Rules, c *thread.Call) bool {
	as := &thread.Call{Turn: c.Turn, Asked: &memory.Asked{Requester: c.Turn.Requester, Rules: rules, Shown: k.shownOf(rules)}}
	n := 0
	for _, who := range g.By {
		may := slices.ContainsFunc(rules.AllApprovers(), func(rule string) bool {
			in, _ := matches(as, rule, who.ID, func(rule string) (bool, error) {
				return slices.Contains(c.Use.Givers[who.ID].In, rule), nil
			})
			return in
		})
		if may && !excludes(as, who.ID) {
			n++
		}
	}
	return n >= max(1, rules.Quorum)
}
