package main

// forbids is the property test that plays approvals with all that people can do about
// them: more than the simulation has them do.
const forbids = "TestNothingForbiddenRuns"

const (
	change  = "agent/change.go"
	resume  = "agent/resume.go"
	taint   = "agent/taint.go"
	grants  = "agent/grants.go"
	tries   = "agent/tries.go"
	preview = "agent/preview.go"
	reach   = "agent/reach.go"
)

// forbidden are mistakes about who may do what with a call.
var forbidden = []mutant{
	{"forbidden: votes count that come too late", approve, "	case !at.Before(c.deadline()):\n", "	case false:\n", forbids},
	{"forbidden: calls are changed too late", change, "	case !s.now.Before(c.deadline()):\n", "	case false:\n", forbids},
	{"forbidden: an outdated form changes a call", change, "	case !strings.HasPrefix(c.asked.Digest, p.was):\n", "	case false:\n", forbids},
	{"forbidden: anybody changes a call", change, "	if p.by.ID != c.asked.Requester.ID {\n", "	if false {\n", forbids},
	{"forbidden: guests change calls", change, "	case p.by.Barred != \"\":\n", "	case false:\n", forbids},
	{"forbidden: what was taken back counts", approve, "			out = slices.DeleteFunc(out, same)\n", "			_ = same\n", forbids},
	{"forbidden: votes of before a change count", change, "	c.asked, c.votes, c.shownIn, c.hidden = &asked, nil, 0, false\n", "	c.asked, c.shownIn = &asked, 0\n", forbids},
	{"forbidden: votes count that did not see a change", approve, "	case c.stale(v.Reaction, r) && v.Verdict == memory.Approve:\n", "	case false:\n", forbids},
	{"forbidden: who changed a call approves it", approve, " || slices.ContainsFunc(c.changes, func(b memory.Changed) bool { return b.By.ID == who }) ||\n", " ||\n", forbids},
	{"forbidden: who asked approves it", approve, "	return who == c.asked.Requester.ID || ", "	return ", forbids},
	{"forbidden: a denial is none", approve, "		if v.Verdict == memory.Deny {\n			return chat.Denied", "		if false {\n			return chat.Denied", forbids},
	{"forbidden: bots vote", approve, "	case v.By.Bot:\n", "	case false:\n", forbids},
	{"forbidden: guests vote", approve, "	case v.By.Barred != \"\" && (v.Verdict != memory.Deny || c.asked.Requester.ID != v.By.ID):\n", "	case false:\n", forbids},
	{"forbidden: a tainted call runs on a grant", grants, " || d.taintOf(c).Source != \"\" {\n", " {\n", forbids},
	{"forbidden: a turn is not tainted by those before it", taint, "	return first(d.inherited(d.s.trim), d.own(c.turn, c.step))\n", "	return d.own(c.turn, c.step)\n", forbids},
	{"forbidden: what was changed comes back", change, "			if k != c && slices.Contains(k.was, digest) {\n", "			if _ = k; false {\n", forbids},
	{"again: what was edited and run again comes back", resume, "		if u.from.digest() == digest {\n", "		if false {\n", forbids},
	{"again: what was changed before it comes back", resume, "			if slices.Contains(c.was, digest) {\n", "			if _ = c; false {\n", forbids},
	{"again: something newer may have been asked", resume, "	for t := s.lastTry(); t != nil; t = s.turn(t.again) {\n		if t == c.turn {\n			return \"\"\n		}\n	}\n", "	if true {\n		return \"\"\n	}\n", forbids},
	{"again: who spoke in the tries before approves it", tries, "		slices.ContainsFunc(t.voices, func(u chat.User) bool { return u.ID == who })\n", "		false\n", forbids},
	{"again: it is not the editor's", resume, "Requester: m.From, Again: last.id, From: c.ID,\n", "Requester: c.turn.requester, Again: last.id, From: c.ID,\n", forbids},
	{"again: a bot's form is taken", resume, "	case c.By.Bot:\n", "	case false:\n", forbids},
	{"again: what ran once needs no approval", "agent/calls.go", "		risk, why := d.risk(tool, c)\n", "		risk, why := d.risk(tool, c)\n		if c.step.origin() != nil {\n			risk = Auto\n		}\n", forbids},
	{"anew: votes of before count", reach, "		c.votes, c.decided, c.ended, c.button, c.reasons = nil, nil, ", "		c.decided, c.ended, c.button, c.reasons = nil, ", forbids},
	{"anew: votes on the earlier card count", reach, "		delete(s.byRef, c.ref) // what was put on the old card is not for the new one\n", "", forbids},
	{"anew: a changed preview is not asked for", preview, "	if d.differs(c) {\n		return true\n	}\n", "", forbids},
}
