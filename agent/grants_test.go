package agent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// word is what somebody said of grants, as the test itself remembers it.
type word struct {
	by     chat.UserID
	at     time.Time
	revoke int // 0: it allows
	call   string
	in     bool // of the group, when it was said
	long   time.Duration
	uses   int
}

// grants is a thread with one risky tool, and what was said in it.
type grants struct {
	*sim
	t     *rapid.T
	rules memory.Rules
	said  []word
}

// No sequence of words, reactions, strangers, revocations, pauses and crashes runs
// a call without an approval of its own that nobody allowed beforehand, for that
// long and that often, who may allow it for whoever asks now, and who still may.
func TestGrantsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := memory.Rules{
			Approvers:        rapid.SampledFrom([][]string{{"requester"}, {"anyone"}, {"user:bob", "user:dan"}, {"group:g"}}).Draw(t, "approvers"),
			Quorum:           rapid.IntRange(1, 2).Draw(t, "quorum"),
			ExcludeRequester: rapid.Bool().Draw(t, "exclude"),
			Timeout:          time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"},
			Grants: memory.Grants{Most: 30 * time.Minute, Uses: 3},
		}
		a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 3, Count: func(s string) int { return len(s) }, Tools: []policy.Tool{newTool("act", policy.Ask, rules)}}
		g := &grants{sim: newSim(a), t: t, rules: rules}
		g.groups["group:g"] = []chat.UserID{"bob", "dan"}
		g.model = func(req llm.Request) llm.Response {
			if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
				return llm.Response{Text: "over"}
			}
			args := fmt.Sprintf(`{"n":%d}`, rapid.IntRange(1, 2).Draw(t, "n"))
			calls := []llm.Call{{ID: "a", Name: "act", Args: args}, {ID: "b", Name: "act", Args: args}}
			return llm.Response{Calls: calls[:rapid.IntRange(1, 2).Draw(t, "calls")]}
		}
		g.check = func(c memory.Call) { g.permitted(c) }
		g.crash = func() bool { return rapid.IntRange(0, 9).Draw(t, "crash") == 0 }
		for range rapid.IntRange(1, 16).Draw(t, "events") {
			g.happens()
			g.run()
		}
		for id, n := range g.ran {
			if n > 1 {
				t.Fatalf("call %s ran %d times", id, n)
			}
		}
	})
}

// happens is one thing that somebody does.
func (g *grants) happens() {
	g.now = g.now.Add(time.Second) // so that nothing happens at the same time
	who := rapid.SampledFrom([]string{"ada", "bob", "eve", "dan"}).Draw(g.t, "who")
	waiting := g.waiting()
	switch what := rapid.IntRange(0, 9).Draw(g.t, "what"); {
	case what == 0:
		g.now = g.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(g.t, "minutes")) * time.Minute)
		g.add(memory.Due{})
	case what == 1:
		n := rapid.IntRange(1, 3).Draw(g.t, "revoke")
		g.said = append(g.said, word{by: chat.UserID(who), at: g.now, revoke: n})
		g.says(who, fmt.Sprint("revoke ", n))
	case what < 6 && len(waiting) > 0:
		at := rapid.SampledFrom(waiting).Draw(g.t, "approval")
		w := word{by: chat.UserID(who), at: g.now, call: at.Call, in: slices.Contains(g.groups["group:g"], chat.UserID(who))}
		text := fmt.Sprintf("allow %d 10m", at.Number)
		if w.long = 10 * time.Minute; rapid.Bool().Draw(g.t, "uses") {
			w.long, w.uses = 0, rapid.IntRange(1, 9).Draw(g.t, "often")
			text = fmt.Sprintf("Allow %d %dx", at.Number, w.uses)
		}
		g.said = append(g.said, w)
		g.says(who, text)
	case what == 7:
		g.groups["group:g"] = rapid.SampledFrom([][]chat.UserID{{"bob", "dan"}, {"bob"}, {"dan", "eve"}, nil}).Draw(g.t, "members")
	case what == 6 && len(waiting) > 0:
		at := rapid.SampledFrom(waiting).Draw(g.t, "approval")
		emoji := rapid.SampledFrom([]string{"✅", "❌"}).Draw(g.t, "emoji")
		g.add(memory.Reaction{Reaction: chat.Reaction{On: ref(memory.AskName(at.Call)), By: chat.User{ID: chat.UserID(who)}, Emoji: emoji}})
	default:
		g.says(who, "go on")
	}
}

// waiting are the approvals that nothing has decided.
func (g *grants) waiting() (out []memory.Asked) {
	for _, e := range g.entries {
		switch b := e.Body.(type) {
		case memory.Asked:
			out = append(out, b)
		case memory.Decided:
			out = slices.DeleteFunc(out, func(a memory.Asked) bool { return a.Call == b.Call })
		}
	}
	return out
}

// permitted is the rule of grants, said a second time and in another way.
func (g *grants) permitted(c memory.Call) {
	var requester chat.UserID
	asked := map[string]memory.Asked{}
	args := map[string]string{}
	approved := map[string]time.Time{}
	writes := map[chat.UserID]bool{}           // into the running turn
	wrote := map[string]map[chat.UserID]bool{} // into the turn of a call, before it was approved
	for _, e := range g.entries {
		switch b := e.Body.(type) {
		case memory.Opened:
			requester = b.Requester.ID
		case memory.Message:
			first, _, _ := strings.Cut(strings.ToLower(b.Text), " ")
			if first == "go" {
				writes[b.From.ID] = true
			}
		case memory.Ended:
			writes = map[chat.UserID]bool{}
		case memory.Step:
			for _, k := range b.Calls {
				args[k.ID] = k.Args
			}
		case memory.Asked:
			asked[b.Call] = b
		case memory.Decided:
			if b.Outcome == chat.Approved {
				approved[b.Call], wrote[b.Call] = e.At, maps.Clone(writes)
			}
		}
	}
	if _, ok := asked[c.ID]; ok {
		if _, yes := approved[c.ID]; !yes {
			g.t.Fatalf("call %s ran, and nobody approved it", c.ID)
		}
		return
	}
	for call, at := range approved {
		if args[call] == c.Args && g.covers(asked[call], at, wrote[call], requester, writes) {
			return
		}
	}
	g.t.Fatalf("call %s %s ran unasked at %v, for %s; said: %+v", c.ID, c.Args, g.now, requester, g.said)
}

// covers says whether what was said of one approval lets its call run again now.
func (g *grants) covers(a memory.Asked, approved time.Time, wrote map[chat.UserID]bool, requester chat.UserID, writes map[chat.UserID]bool) bool {
	long, often := g.rules.Grants.Most, g.rules.Grants.Uses
	by := map[chat.UserID]bool{}
	for _, w := range g.said {
		switch {
		case w.revoke == a.Number && !w.at.Before(approved):
			return false
		case w.call != a.Call || w.at.After(approved):
		case g.may(w.by, a.Requester.ID, w.in) && !(g.rules.ExcludeRequester && (wrote[w.by] || w.by == a.Requester.ID)):
			if w.long > 0 {
				long = min(long, w.long)
			}
			if w.uses > 0 {
				often = min(often, w.uses)
			}
			by[w.by] = g.may(w.by, requester, slices.Contains(g.groups["group:g"], w.by)) && !(g.rules.ExcludeRequester && (writes[w.by] || w.by == requester))
		}
	}
	n := 0
	for _, ok := range by {
		if ok {
			n++
		}
	}
	return n >= g.rules.Quorum && g.now.Before(approved.Add(g.rules.Grants.Most)) && g.uses(a) <= often
}

// uses counts what ran under one approval's grant, this call included.
func (g *grants) uses(a memory.Asked) (n int) {
	for _, e := range g.entries {
		if u, ok := e.Body.(memory.Used); ok && u.Grant == a.Number {
			n++
		}
	}
	return n
}

func (g *grants) may(who, requester chat.UserID, in bool) bool {
	for _, r := range g.rules.Approvers {
		if r == "anyone" || r == "requester" && who == requester || r == "user:"+string(who) ||
			r == "group:g" && in {
			return true
		}
	}
	return false
}

// If two calls claim the last use of a grant, the second asks. So does a late one, and
// one whose grant was revoked before it began; each is in the audit log.
func TestLastUse(t *testing.T) {
	t.Parallel()
	rules := memory.Rules{Approvers: []string{"anyone"}, Quorum: 1, Timeout: time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"}, Grants: memory.Grants{Most: time.Hour, Uses: 9}}
	a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 3, Count: func(s string) int { return len(s) }, Tools: []policy.Tool{newTool("act", policy.Ask, rules)}}
	begin := func(again ...llm.Call) *sim {
		s := newSim(a)
		calls := []llm.Call{{ID: "a", Name: "act", Args: `{}`}}
		s.model = func(llm.Request) llm.Response {
			now := calls
			calls = nil
			return llm.Response{Calls: now, Text: "over"}
		}
		s.says("ada", "go")
		s.run()
		s.says("ada", "allow 1x")
		s.run()
		calls = again
		s.says("ada", "again")
		return s
	}
	last := func(s *sim) do.Action { return s.agent.Next(s.log()) }
	until := func(s *sim) memory.Used {
		for {
			if r, ok := last(s).(do.Record); ok {
				if u, ok := r.Bodies[0].(memory.Used); ok {
					return u
				}
			}
			s.perform(last(s))
		}
	}
	two := []llm.Call{{ID: "a", Name: "act", Args: `{}`}, {ID: "b", Name: "act", Args: `{}`}}

	s := begin(two...)
	used := until(s)
	other := used
	other.Call = strings.TrimSuffix(used.Call, "1") + "2" // of another process, which read the same log
	s.add(used, other)
	s.run()
	if s.ran[used.Call] != 1 || s.ran[other.Call] != 0 || len(s.waiting()) != 1 {
		t.Errorf("for the last use: %v ran, %d ask, want that %s ran and the other one asks", s.ran, len(s.waiting()), used.Call)
	}

	s = begin(two[:1]...)
	used = until(s)
	s.now = s.now.Add(61 * time.Minute)
	s.add(used)
	s.run()
	if s.ran[used.Call] != 0 || len(s.waiting()) != 1 {
		t.Errorf("too late: %v ran, %d ask", s.ran, len(s.waiting()))
	}

	s = begin(two[:1]...)
	used = until(s)
	s.add(used)
	s.says("eve", "revoke 1")
	s.run()
	if s.ran[used.Call] != 0 || len(s.waiting()) != 1 {
		t.Errorf("revoked: %v ran, %d ask", s.ran, len(s.waiting()))
	}
	events := map[string]int{}
	for _, l := range memory.EffectsOf(chat.ThreadID{}, s.entries).Audit {
		events[l.Event]++
	}
	if events["granted"] != 1 || events["used"] != 1 || events["revoked"] != 1 {
		t.Errorf("audit log: %v", events)
	}
}

func (s *sim) waiting() []memory.Asked { return (&grants{sim: s}).waiting() }

// A call that was to run under a grant, and could not begin before that was over since
// the program was down, asks. So does one whose grant was taken back meanwhile.
func TestGrantOverBeforeTheCallBegins(t *testing.T) {
	rules := anyone
	rules.Grants = memory.Grants{Most: time.Hour, Uses: 3}
	for name, meanwhile := range map[string]func(*sim){
		"its time is over": func(s *sim) { s.now = s.now.Add(25 * time.Hour) },
		"taken back":       func(s *sim) { s.says("ada", "revoke 1") },
	} {
		s := newSim(asking(newTool("deploy", policy.Ask, rules)))
		s.model = callsOnce("deploy")
		s.says("ada", "deploy")
		s.run()
		s.says("ada", "allow 1 1h")
		s.run()
		s.model = callsOnce("deploy")
		s.says("ada", "deploy again")
		for s.kinds("used") == 0 {
			s.perform(s.agent.Next(s.log()))
		}
		s.die() // before the call begins
		meanwhile(s)
		s.run()
		if len(s.ran) != 1 || s.kinds("asked") != 2 {
			t.Errorf("%s: %d calls ran, %d were asked for: want one of two", name, len(s.ran), s.kinds("asked"))
		}
		s.says("ada", "y")
		if s.run(); len(s.ran) != 2 {
			t.Errorf("%s: %d calls ran: the second one was approved", name, len(s.ran))
		}
	}
}

// An approver who never called the bot in the thread allows a call for a while and
// takes that back, as they approve with `y`. Their other words there call nobody, nor
// do these words about nothing.
func TestGrantByAnother(t *testing.T) {
	rules := anyone
	rules.Approvers, rules.Grants = []string{"user:bob"}, memory.Grants{Most: time.Hour, Uses: 3}
	s := newSim(asking(newTool("deploy", policy.Ask, rules)))
	aside := func(text string) {
		s.add(memory.Message{Message: chat.Message{From: chat.User{ID: "bob", Name: "bob"}, Text: text, Aside: true}})
		s.run()
	}
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	aside("revoke 1")
	if aside("allow 1 1h"); len(s.ran) != 1 || s.kinds("granted") != 1 {
		t.Fatalf("%d calls ran, %d grants; want that bob allowed it", len(s.ran), s.kinds("granted"))
	}
	aside("allow 1 1h") // nothing waits any more
	aside("revoke 1")
	s.model = callsOnce("deploy")
	s.says("ada", "deploy again")
	s.run()
	if len(s.ran) != 1 || s.kinds("asked") != 2 {
		t.Errorf("%d calls ran, %d were asked for; want that bob revoked it", len(s.ran), s.kinds("asked"))
	}
	if n := s.kinds("opened"); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
}
