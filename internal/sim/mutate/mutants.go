package main

import "slices"

// mutant is a mistake: old becomes new in a file.
type mutant struct {
	name, file, old, new string
	rule                 string // that alone finds it; empty: whichever does. Or a property test of package agent
}

const (
	answer       = "agent/answer.go"
	approval     = "agent/approval/approval.go"
	changes      = "agent/approval/changes.go"
	again        = "agent/approval/again.go"
	lookups      = "agent/approval/lookups.go"
	settle       = "agent/approval/settle.go"
	votes        = "agent/approval/votes.go"
	want         = "agent/approval/want.go"
	asking       = "agent/asking.go"
	next         = "agent/next.go"
	notices      = "agent/notices.go"
	agentOrders  = "agent/orders.go"
	driver       = "agent/run/driver.go"
	perform      = "agent/run/perform.go"
	post         = "agent/run/post.go"
	runner       = "agent/run/run.go"
	work         = "agent/run/work.go"
	inbox        = "agent/run/inbox.go"
	asks         = "agent/thread/asks.go"
	calls        = "agent/thread/calls.go"
	fold         = "agent/thread/fold.go"
	grants       = "agent/thread/grants.go"
	questions    = "agent/thread/questions.go"
	threadOrders = "agent/thread/orders.go"
	stop         = "agent/thread/stop.go"
	server       = "internal/sim/server.go"
	effects      = "memory/effects.go"
)

// mutants are the conditions on which the guarantees stand.
var mutants = slices.Concat(conditions, planted, forbidden)

var conditions = []mutant{
	// The comparison that is the truth, and leases. Who holds a thread is no part of
	// the truth, nor that a commit may be repeated: these conditions may go, and nothing
	// but time is lost.
	{"commit: the head is what the run has seen", server, "if !again && t.last != k.seen {", "if false {", ""},
	{"finish: not while something is in the inbox", server, "wakeAt != nil && len(entries) == c.own", "wakeAt != nil", ""},
	{"finish: the deadline", server, "	s.touch(t)\n		s.plan(t)\n", "	s.touch(t)\n", ""},
	{"finish: not while something is to be done", driver, "if w, ok := d.Agent.Next(log).(do.Wait); ok &&", "if w, _ := d.Agent.Next(log).(do.Wait); true &&", ""},
	{"claim: a token of its own", server, "t.queued, t.holder, t.token, t.commit, t.released = false, h, s.word(), 0, \"\"", "t.queued, t.holder, t.token, t.commit, t.released = false, h, \"word\", 0, \"\"", ""},
	{"claim: Claimed parts old from new", server, "first: before + 1,", "first: before * 0,", ""},
	{"lease: runs out", server, "t.holder != nil && t.token == token && !t.holder.renews(token)", "false", ""},
	{"lease: is renewed", server, "t.holder != nil && t.token == token && !t.holder.renews(token)", "t.holder != nil && t.token == token", ""},
	{"lease: doubt when nothing was heard", "internal/sim/store.go", "return !h.sure && h.s.now().Sub(h.heard) >= h.s.lease", "return false", ""},
	{"silent: from the last beat on", server, "return max(0, s.now().Sub(h.heard))", "return memory.Forever", ""},
	{"put: wakes the thread", server, "		return\n	}\n	s.wake(t)\n}\n\n// know", "		return\n	}\n}\n\n// know", ""},
	{"put: rings where the thread is held", server, "		s.know(t, m.Ref)\n	}\n	if t.holder != nil {\n		t.holder.mail(t)", "		s.know(t, m.Ref)\n	}\n	if t.holder != nil {\n		_ = t", ""},
	{"dedupe: event ids", server, "now.Sub(at) < memory.EventTTL {\n			return true", "false && now.Sub(at) < memory.EventTTL {\n			return true", ""},
	{"refs: what waited comes in", server, "if now.Sub(e.At) < memory.RefWait {", "if now.Sub(e.At) < 0 {", ""},

	// Schedules.
	{"slot: a time comes once", "agent/thread/schedules.go", "c != nil && c.Seq == b.Of {\n		c.Last", "c != nil && false {\n		c.Last", ""},
	{"alert: what comes again begins nothing", "agent/thread/alerts.go", "		i.Times = max(i.Times, b.Alert.Times)\n", "		s.Inbox.Waiting = append(s.Inbox.Waiting, m)\n", ""},
	{"alert: a turn of its own", "agent/thread/schedules.go", "ok || m.Slot != nil || m.byAlert()", "ok || m.Slot != nil", ""},
	{"alert: its approvers decide", "agent/policy/alerts.go", "out = append(out, a.Approvers...)", "out = append(out, rule)", ""},
	{"slot: a deleted message holds nothing up", "agent/schedules/schedules.go", "func(m *thread.Message) bool { return !m.Deleted })", "func(*thread.Message) bool { return true })", ""},
	{"slot: the thread wakes for it", next, "		sooner(next)\n", "		_ = next\n", ""},
	{"slot: it waits for the turn", "agent/schedules/schedules.go", "	case busy:\n		return nil", "	case busy && false:\n		return nil", ""},

	// Calls that go on at their server.
	{"handle: it goes by letter", "agent/run/letters.go", "		l.put(thread, b, \"held/\"", "		_ = append([]any{thread, b}, \"held/\"", ""},
	{"handle: it may come twice", questions, "slices.Contains(c.Run.Keys, b.Handle.Key)", "false", ""},
	{"handle: each run of a call has an outcome of its own", perform, "		id.phase = len(known.Run.Keys)\n", "		id.phase = 0\n", ""},

	// The way in of adapters.
	{"dedupe: the id of a message", "internal/sim/world.go", "e.id, \"msg/\"+what.Ref.ID)", "e.id)", ""},
	{"dedupe: ids of messages are passed on", inbox, "thread, said, eventIDs...)", "thread, said)", ""},

	// Approvals.
	{"tally: one denial decides", approval, "if v.Verdict == memory.Deny {\n			return chat.Denied", "if false {\n			return chat.Denied", ""},
	{"tally: quorum", approval, "len(by) >= max(1, c.Asked.Rules.Quorum)", "len(by) >= 1", ""},
	{"tally: approvals at all", approval, "len(by) >= max(1, c.Asked.Rules.Quorum)", "len(by) >= 0", ""},
	{"tally: different people", approval, "if !chat.Includes(by, v.By.ID) && !excludes(c, v.By.ID) {", "if !excludes(c, v.By.ID) {", ""},
	{"tally: whoever wrote into the turn since", approval, "if !chat.Includes(by, v.By.ID) && !excludes(c, v.By.ID) {", "if !chat.Includes(by, v.By.ID) {", ""},
	{"tally: approvals that were taken back", calls, "out = slices.DeleteFunc(out, same)", "_ = same", ""},
	{"tally: votes that do not count", lookups, "v.Counts = v.Reason == \"\"", "v.Counts = true", ""},
	{"tally: who may decide", votes, "why := ineligible(c, v.Vote, v.at, member);", "why := \"\";", ""},
	{"tally: membership in a group", votes, "return member(rule)", "return true, nil", ""},
	{"deadline: votes after it", votes, "case !v.at.Before(c.Deadline()):\n		return", "case false:\n		return", ""},
	{"deadline: approvals expire", approval, "case !k.Thread.Now.Before(c.Deadline()):", "case false:", ""},
	{"deadline: not before", approval, "case !k.Thread.Now.Before(c.Deadline()):", "case true:", ""},
	{"deadline: the thread is woken for it", next, "func (d *decision) wakeAt() time.Time {", "func (d *decision) wakeAt() time.Time {\n	if true {\n		return time.Time{}\n	}", ""},
	{"approval: the decision is looked at", settle, "	if c.TurnedDown() {\n		return refused(c)", "	if false {\n		return refused(c)", ""},
	{"approval: it is waited for", calls, "return c.Asked != nil && c.Decided == nil && c.Result == nil", "return false", ""},
	{"approval: risk", want, "		case risk == policy.Ask:\n", "		case false && risk == policy.Ask:\n", ""},
	{"digest: what was asked for is what runs", again, "redefined := c.Open() && c.Asked.Digest != k.Bound(c)", "redefined := false", ""},

	// Side effects.
	{"effect: Started before it runs", perform, "	if err := d.commit(act.Started); err != nil {\n		return err\n	}\n	if !fresh", "	d.pending = append(d.pending, act.Started)\n	if !fresh", ""},
	{"effect: not again in the process that ran it", perform, "	if !fresh {", "	if false {", ""},
	{"effect: stop between Started and the call", perform, "	if d.Agent.Interrupted(d.log) {\n		cancelled :=", "	if false {\n		cancelled :=", ""},
	{"effect: what began is not begun again", settle, "	if c.Started {\n		return k.Lost(c)\n	}", "", ""},
	{"effect: nobody ends it", work, "if k == acts {", "if false {", ""},
	{"effect: its outcome goes by letter", work, "	if o.letter != nil {\n", "	if false {\n", ""},
	{"effect: a letter is sent again", "agent/run/letters.go", "		if l.last.Load() || errors.Is(err, memory.ErrFenced) {", "		if true || errors.Is(err, memory.ErrFenced) {", ""},
	{"effect: a drain waits for it", runner, "	r.acting.Wait()\n", "", ""},
	{"effect: unknown only after its time", settle, "return c.Run.Within + silence - min(quiet, c.Run.Within+silence), true", "return 0 * quiet, true", ""},
	{"effect: unknown in the end", settle, "gone := c.Run.By == \"\" || other && heard && left <= 0", "gone := other && heard && left < 0", ""},

	// Turns. Whether a message that came meanwhile is answered in the same turn or in the
	// next one is no guarantee: conversations hold that.
	{"turn: an outcome that nobody waits for", "agent/step.go", "return !opens && t.ID == c.Turn && len(t.Steps)+1 == c.N && t.Stopped == nil && t.Failed == nil", "return !opens || true", ""},
	{"turn: the answer is the answer", work, "	if d.answers(act) {\n		return false, nil\n	}", "", ""},
	{"turn: stop", stop, "return t.Stopped == nil && t.Failed == nil && !t.Answered(s) && t.ID < seq", "return false", ""},
	{"turn: a panic is one failed action", runner, "if p := recover(); p != nil {\n			r.Log", "if p := any(nil); p != nil {\n			r.Log", ""},
	{"turn: what fails for good is said", post, "			if act.Refused != nil {", "			if false {", ""},
	{"wait: what came while the store was away", driver, "		d.missedWake = true\n", "", ""},
	{"wait: an outcome wakes", work, "	d.box = append(d.box, o)\n	d.mu.Unlock()\n	d.wake.Set()", "	d.box = append(d.box, o)\n	d.mu.Unlock()", ""},

	// Posts.
	{"post: look for what an earlier run may have posted", next, "func (d *decision) before(seq uint64) bool { return seq < d.log.claim.Since }", "func (d *decision) before(seq uint64) bool { return false }", ""},
	{"post: look after a failure", post, "again := look || n > 1 || d.doubt()", "again := look || d.doubt()", ""},
	{"post: look in doubt", post, "return d.lost() || d.held.Doubt != nil && d.held.Doubt()", "return false", ""},
	{"post: tried again", post, "if final(err) || ctx.Err() != nil || n == mostPosts {\n			return ref, err", "if final(err) || ctx.Err() != nil || n > 0 {\n			return ref, err", ""},
	{"post: edits are tried again", post, "mostEdits = mostPosts", "mostEdits = 1", ""},
	{"post: steps fold at the end", answer, "	steps.Done = true\n", "", ""},
	{"names: hold the token of the claim", "agent/turn.go", "	if token == \"\" {\n		return name\n	}", "	if true {\n		return name\n	}", ""},
	{"names: hold a digest of what is shown", effects, "return name + \"~\" + Short(shown)", "return name + \"~\" + Short(name)", ""},
}

// planted are bugs of which each is found by one rule of the checker, and by no
// other.
var planted = []mutant{
	{
		"planted: a word that is delivered twice is handled twice", inbox, "	return i.Store.Put(ctx, thread, said, eventIDs...)",
		"	if m.Text == \"help\" {\n		eventIDs = nil\n	}\n	return i.Store.Put(ctx, thread, said, eventIDs...)",
		"an event that was acknowledged is handled exactly once",
	},
	{
		"planted: a turn ends twice", answer, "	ended := []memory.Body{memory.Ended{Turn: t.ID}}\n	if", "	ended := []memory.Body{memory.Ended{Turn: t.ID}, memory.Ended{Turn: t.ID}}\n	if",
		"one turn at a time, in the order of the messages",
	},
	{
		"planted: what was said elsewhere is in the prompt", "agent/speak/tools.go", "func (NativeTools) Request(p Prompt) llm.Request {\n	messages := make([]llm.Message, 0, mostMessages(p))\n",
		"var leak string\n\nfunc (NativeTools) Request(p Prompt) llm.Request {\n	messages := make([]llm.Message, 0, mostMessages(p))\n	if leak != \"\" {\n		messages = append(messages, llm.Message{Role: llm.Assistant, Text: leak})\n	}\n	for _, items := range p.Turns {\n		for _, it := range items {\n			if it.Said != \"\" {\n				leak = it.Said\n			}\n		}\n	}\n",
		"threads never see each other's memory",
	},
	{
		"planted: a side effect is called twice", perform, "		r, err = d.Tools.Call(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})\n", "		r, err = d.Tools.Call(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})\n		if c.Tool == \"act\" {\n			r, err = d.Tools.Call(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})\n		}\n",
		"a side effect happens at most once",
	},
	{
		"planted: Started a moment after it runs", perform, "	if err := d.commit(act.Started); err != nil {\n		return err\n	}\n	if !fresh", "	defer func() { _ = d.commit(act.Started) }()\n	if !fresh",
		"a side effect is in the log before it begins",
	},
	{
		"planted: whoever loses the thread ends what runs", work, "if k == acts {", "if false {",
		"only a person, its own timeout or its process ends a side effect",
	},
	{
		"planted: unknown at once", settle, "return c.Run.Within + silence - min(quiet, c.Run.Within+silence), true", "return 0 * quiet, true",
		"an outcome is called unknown only when it is",
	},
	{
		"planted: no correction is posted", notices, "func (d *decision) corrections() do.Action {", "func (d *decision) corrections() do.Action {\n	if true {\n		return nil\n	}",
		"a result that comes after all is a correction",
	},
	{
		"planted: what the platform refuses is not said", notices, "func (d *decision) refusals() do.Action {", "func (d *decision) refusals() do.Action {\n	if true {\n		return nil\n	}",
		"a turn that was accepted ends with an answer or a plain word",
	},
	{
		"planted: a thread is never let go", driver, "	if waits && len(d.works) == 0 {", "	if waits && len(d.works) == 0 && !w.Until.IsZero() {",
		"once the world is calm nothing is stuck",
	},
	{
		"planted: steps never fold", answer, "	steps.Done = true\n", "",
		"once the world is calm no steps are shown as running",
	},
	{
		"planted: cards are never edited", asking, "		if key == \"\" || d.thread.Has(key) {", "		if true || key == \"\" || d.thread.Has(key) {",
		"once the world is calm no card asks any more",
	},
	{
		"planted: a process lingers when it is drained", runner, "	r.acting.Wait()\n", "	r.acting.Wait()\n	r.Host.Signal().Wait(r.Host.Now().Add(20 * time.Minute))\n",
		"a process ends when it is told to",
	},
	{
		"planted: a denial is no denial", settle, "	if c.TurnedDown() {\n		return refused(c)", "	if false {\n		return refused(c)",
		"nothing that needs an approval runs without one",
	},
	{
		"planted: the digest is not looked at", again, "redefined := c.Open() && c.Asked.Digest != k.Bound(c)", "redefined := false",
		"what runs is what was shown",
	},
	{
		"planted: what was taken back still counts", calls, "out = slices.DeleteFunc(out, same)", "_ = same",
		"votes decide as the rules say",
	},
	{
		"planted: nobody looks for an earlier post", next, "func (d *decision) before(seq uint64) bool { return seq < d.log.claim.Since }", "func (d *decision) before(seq uint64) bool { return false }",
		"what is posted is posted once",
	},
	{
		"planted: names say nothing of what is shown", effects, "return name + \"~\" + Short(shown)", "return name + \"~\" + Short(name)",
		"names are never used twice",
	},
	{
		"planted: the stop button does nothing", stop, "		if s.stoppable(h.Seq) {\n			note(h.By", "		if false {\n			note(h.By",
		"stop ends a turn",
	},
	{
		"planted: what cannot be shown is waited for", asking, "Look: d.before(last.Seq), Refused: []memory.Body{hidden}}", "Look: d.before(last.Seq), Refused: []memory.Body{hidden}[1:]}",
		"what cannot be shown to anybody is denied at once",
	},
	{
		"planted: the model goes on without what needs an approval", want, "		case risk == policy.Ask:\n", "		case false && risk == policy.Ask:\n",
		"a model goes on once it has a result of all that it called",
	},
	{
		"planted: questions do not ring where the thread is held", server, "		s.know(t, m.Ref)\n	}\n	if t.holder != nil {\n		t.holder.mail(t)",
		"		s.know(t, m.Ref)\n	}\n	if t.holder != nil {\n		if m, ok := e.Body.(memory.Message); !ok || len(m.Text) == 0 || m.Text[0] != 'q' {\n			t.holder.mail(t)\n		}",
		"what is said while nod is at work is heard",
	},
	{
		"planted: a stopped turn leaves its tasks to their servers", "agent/stop.go", "	case c.Result != nil, c.Run.Handle != nil && c.Run.Handle.Repeats:\n", "	case c.Result != nil:\n",
		"a call goes on at its server by its handle, ends once, and a stop ends it there",
	},
	{
		"planted: a panic that nobody waits for", work, "	d.beside.Go(func() { d.whisper(", "	d.beside.Go(func() {\n		defer panic(\"planted\")\n		d.whisper(",
		"a mistake is one failed action, never the end of the process",
	},
}
