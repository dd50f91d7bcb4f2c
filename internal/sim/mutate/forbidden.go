package main

// forbids is the property test that plays approvals with all that people can do about
// them: more than the simulation has them do.
const forbids = "TestNothingForbiddenRuns"

// forbidden are mistakes about who may do what with a call. Those about older stores and
// about asking anew are seen by tests of cases.
var forbidden = []mutant{
	{"forbidden: votes count that come too late", votes, "	case !v.at.Before(c.Deadline()):\n", "	case false:\n", forbids},
	{"forbidden: calls are changed too late", changes, "	case !k.Thread.Now.Before(c.Deadline()):\n", "	case false:\n", forbids},
	{"forbidden: an outdated form changes a call", changes, "	case !strings.HasPrefix(c.Asked.Digest, p.Was):\n", "	case false:\n", forbids},
	{"forbidden: anybody changes a call", changes, "	if p.By.ID != c.Asked.Requester.ID {\n", "	if false {\n", forbids},
	{"forbidden: guests change calls", changes, "	case p.By.Barred != \"\":\n", "	case false:\n", forbids},
	{"forbidden: what was taken back counts", calls, "			out = slices.DeleteFunc(out, same)\n", "			_ = same\n", forbids},
	{"forbidden: votes of before a change count", asks, "	c.Asked, c.Votes.Given, c.Card.ShownIn, c.Card.Hidden = &asked, nil, 0, false\n", "	c.Asked, c.Card.ShownIn = &asked, 0\n", forbids},
	{"forbidden: votes count that did not see a change", votes, "	case c.Stale(v.Reaction, v.on) && v.Verdict == memory.Approve:\n", "	case false:\n", forbids},
	{"forbidden: who changed a call approves it", approval, " || slices.ContainsFunc(c.Edits.Made, func(b memory.Changed) bool { return b.By.ID == who }) ||\n", " ||\n", forbids},
	{"forbidden: who asked approves it", approval, "	return who == c.Asked.Requester.ID || ", "	return ", forbids},
	{"forbidden: a denial is none", approval, "		if v.Verdict == memory.Deny {\n			return chat.Denied", "		if false {\n			return chat.Denied", forbids},
	{"forbidden: bots vote", votes, "	case v.By.Bot:\n", "	case false:\n", forbids},
	{"forbidden: guests vote", votes, "	case v.By.Barred != \"\" && (v.Verdict != memory.Deny || c.Asked.Requester.ID != v.By.ID):\n", "	case false:\n", forbids},
	{"forbidden: any way approves", votes, "	return wrongWay(c.Asked.Rules.By, v.on.Way)\n", "	return \"\"\n", forbids},
	{"forbidden: a code approves another card", votes, "	if v.on.Way == chat.ByCode && v.on.Digest != c.Asked.Digest {\n", "	if false {\n", forbids},
	{"forbidden: accounts vote as they were", lookups, "		v.By = k.User\n", "		_ = k\n", forbids},
	{"forbidden: accounts that are gone fill a quorum", lookups, "		case k.User.Barred != \"\":\n", "		case false:\n", forbids},
	{"forbidden: a tainted call runs on a grant", "agent/approval/grants.go", " || k.Taint.OfCall(c).Source != \"\" {\n", " {\n", forbids},
	{"forbidden: a turn is not tainted by those before it", "agent/taint/taint.go", "	return first(w.inherited(w.Thread.Trim), w.ofTurn(c.Turn, c.Step))\n", "	return w.ofTurn(c.Turn, c.Step)\n", forbids},
	{"forbidden: what was changed comes back", calls, "		if k != c && slices.Contains(k.Edits.Was, digest) {\n", "		if _ = k; false {\n", forbids},
	{"again: what was edited and run again comes back", threadOrders, "		if u.From.Digest() == digest {\n", "		if false {\n", forbids},
	{"again: what was changed before it comes back", threadOrders, "			if slices.Contains(c.Edits.Was, digest) {\n", "			if _ = c; false {\n", forbids},
	{"again: something newer may have been asked", "agent/view/steps.go", "	for t := s.LastTry(); t != nil; t = s.Turn(t.Again) {\n		if t == c.Turn {\n			return \"\"\n		}\n	}\n", "	if true {\n		return \"\"\n	}\n", forbids},
	{"again: who spoke in the tries before approves it", "agent/thread/turn.go", "		slices.ContainsFunc(t.Voices, func(u chat.User) bool { return u.ID == who })\n", "		false\n", forbids},
	{"again: it is not the editor's", agentOrders, "Requester: m.From, Again: last.ID, From: c.ID,\n", "Requester: c.Turn.Requester, Again: last.ID, From: c.ID,\n", forbids},
	{"again: a bot's form is taken", agentOrders, "	case c.By.Bot:\n", "	case false:\n", forbids},
	{"again: what ran once needs no approval", want, "		risk, why := k.Taint.Risk(tool, c)\n", "		risk, why := k.Taint.Risk(tool, c)\n		if c.Step.Origin() != nil {\n			risk = policy.Auto\n		}\n", forbids},
	{"anew: votes of before count", asks, "		c.Votes = Votes{On: c.Votes.On}\n", "		c.Votes = Votes{On: c.Votes.On, Given: c.Votes.Given}\n", forbids},
	{"anew: votes on the earlier card count", asks, "		delete(s.Posts.Cards, c.Card.Ref) // a vote on the old card is not for the new one\n", "", forbids},
	{"anew: a changed preview is not asked for", "agent/approval/previews.go", "	if k.Differs(c) {\n		return true\n	}\n", "", forbids},
	{"older: votes of before a restore count", "agent/thread/lost.go", "return c.Ask.Seq < s.Older.Seq", "return false", "TestAskedAnewAfterARestore"},
	{"older: a card of an earlier process is not read", "agent/restored.go", "&& !d.log.claim.Proven(proof)", "&& false", "TestNothingIsDecidedByAnUnknownCard"},
	{"older: a card that shows more is not believed", "agent/approval/older.go", "case c.Card.Shows != \"\":", "case false:", "TestACardThatShowsMoreIsBelieved"},
	{"older: a turn that had gone further goes on", "agent/approval/older.go", "if k.Thread.Older.Own == 0 {", "if true {", "TestATurnThatHadGoneFurtherEnds"},
	{"older: people are told again and again", "agent/restored.go", "if !d.thread.Has(name) {", "if true {", "TestPeopleAreToldOfARestore"},
	{"older: numbers of lost cards are used again", "agent/thread/lost.go", "/100*100 + 100", "", "TestCardsCountOn"},
	{"asks: forget begins to count anew", "agent/thread/cut.go", "max(kept.Approvals.Asks, b.Asks)", "kept.Approvals.Asks", "TestCardsCountOn"},
	{"asks: a call that was tampered with is asked anew", settle, "if c.Asked != nil && !k.intact(c) {", "if false {", "TestApprovedAndNeverBegun"},
	{"asks: processes with different files ask for ever", again, "if c.Asked.Again >= mostStricter {", "if false {", "TestApprovedAndNeverBegun"},
	{"asks: what never began is called approved", calls, "return c.Decided != nil && !c.TurnedDown() && !c.Started &&", "return false && c.Decided != nil &&", "TestApprovedAndNeverBegun"},
}
