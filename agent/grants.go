package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// refusesGrant says why an approval can't be given for a while; "" when it can.
func refusesGrant(c *thread.Call) string {
	if c.Asked.Rules.Grants.Most <= 0 {
		return "nothing can be allowed for a while here, since `approvals.grants` is off"
	}
	return ""
}

// newGrant is the grant that comes with the decision to approve, if enough of
// those who decided gave one. The shortest of their terms holds.
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

// granted finds the grant under which a risky call may run, after so many further
// uses that are not in the log yet.
func (d *decision) granted(tool Tool, c *thread.Call, more map[int]int) *thread.Grant {
	for _, g := range d.fitting(tool, c) {
		if g.Left() > more[g.Number] && d.stillAllowed(g, tool.Rules, c) {
			return g
		}
	}
	return nil
}

// fitting are the grants of just this call that hold, whoever gave them.
func (d *decision) fitting(tool Tool, c *thread.Call) []*thread.Grant {
	if c.Use.Spent || tool.Risk != Ask || tool.Rules.Grants.Most <= 0 || d.taintOf(c).Source != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.s.Approvals.Grants), func(g *thread.Grant) bool {
		return g.Tool != c.Tool || g.Digest != d.bound(c) || !g.Holds(d.s.Now)
	})
}

// staleAfter is how old what is known of somebody's memberships may be when a grant
// of theirs is used.
const staleAfter = time.Minute

// givers asks who those are that gave a grant which a call would run on, where the
// rules name a group: somebody may have left it.
func (d *decision) givers(tool Tool, c *thread.Call) Action {
	groups := slices.DeleteFunc(slices.Clone(tool.Rules.AllApprovers()), func(rule string) bool { return !IsGroup(rule) })
	if len(groups) == 0 {
		return nil
	}
	var who []chat.UserID
	fresh := d.s.Now.Sub(c.Use.Identified) < staleAfter
	for _, g := range d.fitting(tool, c) {
		for _, u := range g.By {
			fresh = fresh && c.Use.Givers[u.ID].Who != ""
			if !slices.Contains(who, u.ID) {
				who = append(who, u.ID)
			}
		}
	}
	if len(who) == 0 || fresh {
		return nil
	}
	return Identify{Call: c.ID, Turn: c.Turn.ID, Who: who, Rules: groups}
}

// stillAllowed says whether those who gave a grant are enough for a call of this
// turn, under the rules that hold now: whoever asks for it may be another person,
// and who gave it may have left the group since, which is looked up for each use.
func (d *decision) stillAllowed(g *thread.Grant, rules memory.Rules, c *thread.Call) bool {
	as := &thread.Call{Turn: c.Turn, Asked: &memory.Asked{Requester: c.Turn.Requester, Rules: rules, Shown: d.shownOf(rules)}}
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

// revoking notes what was revoked, for the audit log.
func (d *decision) revoking() Action {
	var out []memory.Body
	for _, r := range d.s.Approvals.Revokes {
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil
	}
	return Record{out}
}

// grantList answers `grants`.
func (d *decision) grantList() string {
	var b strings.Builder
	for _, g := range d.s.Approvals.Grants {
		if !g.Holds(d.s.Now) {
			continue
		}
		fmt.Fprintf(&b, "- %d: `%s` %s, %s, by %s\n", g.Number, g.Tool, code(g.Args), grantTerms(g), chat.Names(g.By))
	}
	if b.Len() == 0 {
		return "Nothing is allowed for a while in this thread."
	}
	return "Allowed in this thread without another approval:\n\n" + b.String() + "\n`revoke N` ends one."
}

// code shows arguments, which the model wrote, as what they are.
func code(text string) string {
	if text = chat.Exact(text); len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

func grantTerms(g *thread.Grant) string {
	return fmt.Sprintf("until %s, %d more %s", g.Until.UTC().Format("2 Jan 15:04 UTC"), g.Left(), plural(g.Left(), "time"))
}

// allowedReply answers `allow`.
func (d *decision) allowedReply(c *thread.Command) string {
	v, judged := d.s.Approvals.Allows[c.Seq]
	call := d.s.Calls[v.Call]
	switch {
	case !judged || call == nil:
		return "That approval is over."
	case !v.Counts:
		return "That does not count: " + v.Reason + "."
	}
	if g := d.s.Grant(call.Asked.Number); g != nil {
		return fmt.Sprintf("Allowed in this thread: `%s` %s, %s. `grants` lists it, `revoke %d` ends it.", g.Tool, code(g.Args), grantTerms(g), g.Number)
	}
	return "It counts as an approval. As many different people as have to approve have to allow it for a while."
}

// revokedReply answers `revoke`.
func (d *decision) revokedReply(arg string) string {
	if n, err := strconv.Atoi(arg); err == nil && d.s.Grant(n) != nil {
		return fmt.Sprintf("Revoked: what %d allowed asks again.", n)
	}
	return "There is nothing that was allowed under this number. `grants` lists what is."
}
