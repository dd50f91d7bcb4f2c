package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// grant is what is left of one.
type grant struct {
	memory.Granted
	until time.Time
	used  int
	over  bool // somebody revoked it
}

func (g *grant) left() int { return g.Uses - g.used }

// holds says whether it can be used now.
func (g *grant) holds(now time.Time) bool {
	return !g.over && g.left() > 0 && now.Before(g.until)
}

// parseAllow reads `1 1h`, `1 5x`, `1h` or `5x`. Number 0 is the one that waits.
func parseAllow(arg string) (number int, terms chat.Grant, ok bool) {
	fields := strings.Fields(arg)
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 {
			return 0, terms, false
		}
		number, fields = n, fields[1:]
	}
	if len(fields) != 1 {
		return 0, terms, false
	}
	text := strings.ToLower(fields[0])
	if uses, isCount := strings.CutSuffix(text, "x"); isCount {
		n, err := strconv.Atoi(uses)
		terms.Uses = n
		return number, terms, err == nil && n > 0
	}
	long, err := time.ParseDuration(text)
	terms.For = long
	return number, terms, err == nil && long > 0
}

// allowed takes the word `allow` for a vote on the approval that it names. ok is
// false where none waits: then it is a text like others.
func (s *state) allowed(m *message, arg string) (ok bool) {
	number, terms, ok := parseAllow(arg)
	if !ok {
		return false
	}
	c := s.waitsFor(m, number)
	if c == nil {
		return false
	}
	s.reacts = append(s.reacts, reaction{memory.Reaction{Reaction: chat.Reaction{
		On: c.ref, By: m.From, Emoji: c.asked.Rules.Approve[0], Grant: &terms,
	}}, m.seq, m.at})
	return true
}

// waitsFor finds the approval with a number, or the only one that waits.
func (s *state) waitsFor(m *message, number int) *call {
	waiting := slices.DeleteFunc(s.cardsFor(m), func(c *call) bool {
		return len(c.asked.Rules.Approve) == 0 || number > 0 && c.asked.Number != number
	})
	if len(waiting) != 1 {
		return nil
	}
	return waiting[0]
}

// refusesGrant says why an approval can't be given for a while; "" when it can.
func (c *call) refusesGrant() string {
	if c.asked.Rules.Grants.Most <= 0 {
		return "nothing can be allowed for a while here, since `approvals.grants` is off"
	}
	return ""
}

// granting is the grant that comes with the decision to approve, if enough of
// those who decided gave one. The shortest of their terms holds.
func (c *call) granting(at time.Time) (memory.Granted, bool) {
	caps, rules := c.asked.Rules.Grants, c.asked.Rules
	rules.Approvers = c.approversAt(at)
	g := memory.Granted{
		Number: c.asked.Number, Tool: c.Tool, Digest: c.asked.Digest, Args: c.Args,
		For: caps.Most, Uses: caps.Uses, Rules: rules,
	}
	given := slices.DeleteFunc(c.standing(), func(v memory.Vote) bool { return v.Grant == nil })
	g.By = c.approvers(given)
	if caps.Most <= 0 || len(g.By) < max(1, c.asked.Rules.Quorum) {
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
func (d *decision) granted(tool Tool, c *call, more map[int]int) *grant {
	for _, g := range d.fitting(tool, c) {
		if g.left() > more[g.Number] && d.stillAllowed(g, tool.Rules, c) {
			return g
		}
	}
	return nil
}

// fitting are the grants of just this call that hold, whoever gave them.
func (d *decision) fitting(tool Tool, c *call) []*grant {
	if c.spent || tool.Risk != Ask || tool.Rules.Grants.Most <= 0 || d.taintOf(c).Source != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.s.grants), func(g *grant) bool {
		return g.Tool != c.Tool || g.Digest != d.bound(c) || !g.holds(d.s.now)
	})
}

// staleAfter is how old what is known of somebody's memberships may be when a grant
// of theirs is used.
const staleAfter = time.Minute

// givers asks who those are that gave a grant which a call would run on, where the
// rules name a group: somebody may have left it.
func (d *decision) givers(tool Tool, c *call) Action {
	groups := slices.DeleteFunc(slices.Clone(tool.Rules.AllApprovers()), func(rule string) bool { return !IsGroup(rule) })
	if len(groups) == 0 {
		return nil
	}
	var who []chat.UserID
	fresh := d.s.now.Sub(c.identified) < staleAfter
	for _, g := range d.fitting(tool, c) {
		for _, u := range g.By {
			fresh = fresh && c.givers[u.ID].Who != ""
			if !slices.Contains(who, u.ID) {
				who = append(who, u.ID)
			}
		}
	}
	if len(who) == 0 || fresh {
		return nil
	}
	return Identify{Call: c.ID, Turn: c.turn.id, Who: who, Rules: groups}
}

// stillAllowed says whether those who gave a grant are enough for a call of this
// turn, under the rules that hold now: whoever asks for it may be another person,
// and who gave it may have left the group since, which is looked up for each use.
func (d *decision) stillAllowed(g *grant, rules memory.Rules, c *call) bool {
	as := &call{turn: c.turn, asked: &memory.Asked{Requester: c.turn.requester, Rules: rules, Shown: d.shownOf(rules)}}
	n := 0
	for _, who := range g.By {
		may := slices.ContainsFunc(rules.AllApprovers(), func(rule string) bool {
			in, _ := as.matches(rule, who.ID, func(rule string) (bool, error) {
				return slices.Contains(c.givers[who.ID].In, rule), nil
			})
			return in
		})
		if may && !as.excludes(who.ID) {
			n++
		}
	}
	return n >= max(1, rules.Quorum)
}

// use takes an entry that a call runs under a grant. One that came too late, or
// too often, has the call ask.
func (s *state) use(e memory.Entry, b memory.Used) {
	g, c := s.grant(b.Grant), s.calls[b.Call]
	good := g != nil && g.holds(e.At)
	if good {
		g.used++
	}
	switch {
	case c == nil || c.asked != nil || c.grant != nil:
	case good && g.Digest == b.Digest:
		c.grant = g
	default:
		c.spent = true
	}
}

// grant finds a grant by its number, which is that of the approval it came with.
func (s *state) grant(number int) *grant {
	for _, g := range s.grants {
		if g.Number == number {
			return g
		}
	}
	return nil
}

// runsGranted says whether the call may run under a grant: that was not revoked, and
// its time was not over, before the call began.
func (c *call) runsGranted(now time.Time) bool {
	return c.grant != nil && (c.started || !c.grant.over && now.Before(c.grant.until))
}

// grantedFrom keeps a grant that began at some time.
func (s *state) grantedFrom(at time.Time, b memory.Granted) {
	if s.grant(b.Number) == nil {
		s.grants = append(s.grants, &grant{Granted: b, until: at.Add(b.For)})
	}
}

// revoked takes the word `revoke`, which ends a grant at once.
func (s *state) revoked(by chat.User, arg string) {
	n, _ := strconv.Atoi(arg)
	if g := s.grant(n); g != nil && !g.over {
		g.over = true
		s.revokes = append(s.revokes, memory.Revoked{Grant: n, Tool: g.Tool, Digest: g.Digest, By: by})
	}
}

// revoking notes what was revoked, for the audit log.
func (d *decision) revoking() Action {
	var out []memory.Body
	for _, r := range d.s.revokes {
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil
	}
	return Record{out}
}

// carried are the grants that a trimmed log has to keep.
func (s *state) carried() (out []memory.Carried) {
	for _, g := range s.grants {
		if g.holds(s.now) {
			out = append(out, memory.Carried{Granted: g.Granted, Until: g.until, Used: g.used})
		}
	}
	return out
}

func (s *state) carriedOn(list []memory.Carried) {
	for _, k := range list {
		if s.grant(k.Granted.Number) == nil {
			s.grants = append(s.grants, &grant{Granted: k.Granted, until: k.Until, used: k.Used})
		}
	}
}

// grantList answers `grants`.
func (d *decision) grantList() string {
	var b strings.Builder
	for _, g := range d.s.grants {
		if !g.holds(d.s.now) {
			continue
		}
		fmt.Fprintf(&b, "- %d: `%s` %s, %s, by %s\n", g.Number, g.Tool, code(g.Args), g.terms(), chat.Names(g.By))
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

func (g *grant) terms() string {
	return fmt.Sprintf("until %s, %d more %s", g.until.UTC().Format("2 Jan 15:04 UTC"), g.left(), plural(g.left(), "time"))
}

// allowedReply answers `allow`.
func (d *decision) allowedReply(c *command) string {
	v, judged := d.s.allows[c.seq]
	call := d.s.calls[v.Call]
	switch {
	case !judged || call == nil:
		return "That approval is over."
	case !v.Counts:
		return "That does not count: " + v.Reason + "."
	}
	if g := d.s.grant(call.asked.Number); g != nil {
		return fmt.Sprintf("Allowed in this thread: `%s` %s, %s. `grants` lists it, `revoke %d` ends it.", g.Tool, code(g.Args), g.terms(), g.Number)
	}
	return "It counts as an approval. As many different people as have to approve have to allow it for a while."
}

// revokedReply answers `revoke`.
func (d *decision) revokedReply(arg string) string {
	if n, err := strconv.Atoi(arg); err == nil && d.s.grant(n) != nil {
		return fmt.Sprintf("Revoked: what %d allowed asks again.", n)
	}
	return "There is nothing that was allowed under this number. `grants` lists what is."
}
