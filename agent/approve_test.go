package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// heard is a reaction as the test itself remembers it.
type heard struct {
	by      chat.UserID
	emoji   string
	removed bool
	at      time.Time
	ask     string // the card, by its name
}

// newest gives the latest time that a call was asked for: the name of its card, and
// when that was.
func newest(entries []memory.Entry, call string) (name string, at time.Time) {
	for _, e := range entries {
		if b, ok := e.Body.(memory.Asked); ok && b.Call == call {
			name, at = memory.AskName(memory.Nth(call, b.Again)), e.At
		}
	}
	return name, at
}

// No sequence of reactions, withdrawals, messages, deadlines, escalations, crashes and
// long outages runs a call that the rules forbid, or runs one twice, or leaves one
// undecided after its deadline, or has a clock strike twice.
func TestApprovalsProperty(t *testing.T) {
	t.Parallel()
	people := []string{"ada", "bob", "eve", "dan"}
	rapid.Check(t, func(t *rapid.T) {
		rules := memory.Rules{
			Approvers:        rapid.SampledFrom([][]string{{"requester"}, {"anyone"}, {"user:bob", "user:eve"}, {"group:g"}, {"requester", "group:g"}}).Draw(t, "approvers"),
			Quorum:           rapid.IntRange(1, 3).Draw(t, "quorum"),
			ExcludeRequester: rapid.Bool().Draw(t, "exclude"),
			Timeout:          time.Hour, Approve: []string{"✅", "👍"}, Deny: []string{"❌"},
			Remind: 10 * time.Minute, RunWithin: 90 * time.Minute,
		}
		if rapid.Bool().Draw(t, "elsewhere") {
			rules.Channels = []string{"ops"}
		}
		if rapid.Bool().Draw(t, "escalates") {
			rules.Escalate = memory.Escalation{After: 20 * time.Minute, Approvers: []string{"user:eve", "group:g"}}
		}
		a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 4, Count: func(s string) int { return len(s) }, Tools: []policy.Tool{newTool("act", policy.Ask, rules)}}
		s := newSim(a)
		s.groups["group:g"] = []chat.UserID{"bob", "dan"}
		s.model = func(req llm.Request) llm.Response {
			for _, m := range req.Messages {
				if m.Role == llm.ToolRole {
					return llm.Response{Text: "over"}
				}
			}
			return llm.Response{Calls: []llm.Call{{ID: "a", Name: "act", Args: `{"n":1}`}, {ID: "b", Name: "act", Args: `{"n":2}`}}}
		}
		var log []heard
		wrote := map[chat.UserID]bool{"ada": true}
		s.check = func(c memory.Call) { permitted(t, s, rules, log, wrote, c.ID) }
		s.crash = func() bool {
			dies := rapid.IntRange(0, 9).Draw(t, "crash") == 0
			if dies && rapid.IntRange(0, 3).Draw(t, "outage") == 0 {
				s.now = s.now.Add(2 * time.Hour)
			}
			return dies
		}

		s.says("ada", "go")
		s.run()
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				s.now = s.now.Add(time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute)
				s.add(memory.Due{})
			case 1:
				who := rapid.SampledFrom(people).Draw(t, "who")
				s.says(who, "hm")
				if rules.ExcludeRequester {
					wrote[chat.UserID(who)] = true
				}
			default:
				card, _ := newest(s.entries, rapid.SampledFrom([]string{"1-1-1", "1-1-2"}).Draw(t, "call"))
				if card != "" && rapid.IntRange(0, 9).Draw(t, "old") == 0 {
					card, _, _ = strings.Cut(card, "!")
				}
				if len(rules.Channels) > 0 && rapid.Bool().Draw(t, "there") {
					card = "copy/" + strings.TrimPrefix(card, "ask/") + "/channel:ops"
				}
				h := heard{
					by: chat.UserID(rapid.SampledFrom(people).Draw(t, "by")), emoji: rapid.SampledFrom([]string{"✅", "👍", "❌", "🎉"}).Draw(t, "emoji"),
					removed: rapid.IntRange(0, 3).Draw(t, "removed") == 0, at: s.now, ask: card,
				}
				log = append(log, h)
				s.add(memory.Reaction{Reaction: chat.Reaction{On: ref(h.ask), By: chat.User{ID: h.by}, Emoji: h.emoji, Removed: h.removed}})
			}
			s.run()
		}
		s.crash = func() bool { return false }
		for range 3 { // what is asked for anew expires too
			s.now = s.now.Add(3 * time.Hour)
			s.add(memory.Due{})
			s.run()
		}
		for name, n := range s.posts {
			if n > 1 {
				t.Fatalf("%s was posted %d times", name, n)
			}
		}
		for id, n := range s.ran {
			if n > 1 {
				t.Fatalf("call %s ran %d times", id, n)
			}
		}
		if view.Standing(agent.NewLog(s.entries, agent.Claim{}).Thread).Running {
			t.Fatal("the turn did not end after the deadline")
		}
	})
}

// permitted is the rule, written a second time and in another way: it reads the
// reactions that the test itself made.
func permitted(t *rapid.T, s *sim, rules memory.Rules, log []heard, wrote map[chat.UserID]bool, call string) {
	card, asked := newest(s.entries, call)
	may := func(who chat.UserID, at time.Time) bool {
		list := rules.Approvers
		if e := rules.Escalate; e.After > 0 && at.Sub(asked) >= e.After {
			list = append(list[:len(list):len(list)], e.Approvers...)
		}
		for _, r := range list {
			switch kind, id, _ := strings.Cut(r, ":"); kind {
			case "anyone":
				return true
			case "requester":
				if who == "ada" {
					return true
				}
			case "user":
				if string(who) == id {
					return true
				}
			case "group":
				if who == "bob" || who == "dan" {
					return true
				}
			}
		}
		return false
	}
	for _, e := range s.entries {
		if b, ok := e.Body.(memory.Decided); ok && b.Call == call && !e.At.Before(asked) && s.now.Sub(e.At) >= rules.RunWithin {
			t.Fatalf("call %s began %v after it was approved", call, s.now.Sub(e.At))
		}
	}
	yes := map[chat.UserID]map[string]bool{}
	for _, h := range log {
		if h.ask != card && h.ask != "copy/"+strings.TrimPrefix(card, "ask/")+"/channel:ops" || h.at.Sub(asked) >= rules.Timeout || !may(h.by, h.at) {
			continue
		}
		if yes[h.by] == nil {
			yes[h.by] = map[string]bool{}
		}
		switch {
		case h.emoji == "❌" && !h.removed && !wrote[h.by]:
			// Somebody who may decide said no before enough said yes.
			if count(yes, rules, wrote) < rules.Quorum {
				t.Fatalf("call %s ran after %s denied it", call, h.by)
			}
		case h.removed && (h.emoji == "✅" || h.emoji == "👍"):
			if count(yes, rules, wrote) < rules.Quorum {
				delete(yes[h.by], h.emoji)
			}
		case h.emoji == "✅" || h.emoji == "👍":
			yes[h.by][h.emoji] = true
		}
	}
	if n := count(yes, rules, wrote); n < rules.Quorum {
		t.Fatalf("call %s ran with %d approvals of %d: %s", call, n, rules.Quorum, fmt.Sprint(yes))
	}
}

func count(yes map[chat.UserID]map[string]bool, rules memory.Rules, wrote map[chat.UserID]bool) int {
	n := 0
	for who, emoji := range yes {
		if len(emoji) > 0 && !(rules.ExcludeRequester && wrote[who]) {
			n++
		}
	}
	return n
}

// A reaction that counted, and comes once more because a look found it too, is not
// reported as late. One that did not count is.
func TestReactionRepeated(t *testing.T) {
	for emoji, other := range map[string]string{"✅": "❌", "❌": "✅"} {
		t.Run(emoji, func(t *testing.T) {
			s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
			s.model = callsOnce("deploy")
			s.says("ada", "deploy")
			s.run()
			on := s.asked()
			react := func(who, emoji string, found bool) {
				s.add(memory.Reaction{Reaction: chat.Reaction{On: on, By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: emoji, Found: found}})
			}
			react("bob", emoji, true)
			react("bob", emoji, false)
			s.run()
			react("bob", emoji, false)
			s.run()
			if votes, decided := s.kinds("vote"), s.kinds("decided"); votes != 1 || decided != 1 {
				t.Errorf("%d votes, %d decisions; want one of each", votes, decided)
			}
			react("eve", "✅", false)
			react("bob", other, false)
			s.run()
			var late int
			for _, e := range s.entries {
				if v, ok := e.Body.(memory.Vote); ok && strings.HasPrefix(v.Reason, "it is already decided") {
					late++
				}
			}
			if late != 2 {
				t.Errorf("%d came too late, want eve's and what bob put anew", late)
			}
		})
	}
}

// An approval that filled the quorum has decided, although it was taken back before anything
// was judged.
func TestTakenBackTooLate(t *testing.T) {
	two := anyone
	two.Quorum = 2
	s := newSim(asking(newTool("deploy", policy.Ask, two)))
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	for _, r := range []chat.Reaction{{By: chat.User{ID: "bob"}}, {By: chat.User{ID: "cid"}}, {By: chat.User{ID: "cid"}, Removed: true}} {
		r.On, r.Emoji = s.asked(), "✅"
		s.add(memory.Reaction{Reaction: r})
	}
	s.run()
	if n := s.kinds("decided"); n != 1 {
		t.Errorf("%d decisions, want the approval", n)
	}
}

// A server that reads no more than so many tokens of larger prompts, twice, cuts them.
func TestShortened(t *testing.T) {
	t.Parallel()
	step := func(estimate, read int) memory.Step {
		return memory.Step{Turn: 1, N: 1, Estimate: estimate, Usage: llm.Usage{Prompt: read}}
	}
	for _, tt := range []struct {
		before, now memory.Step
		want        bool
	}{
		{step(11000, 2048), step(12000, 2048), true},
		{step(11000, 2048), step(12000, 2050), false},
		{step(3000, 2048), step(12000, 2048), false},
		{step(0, 0), step(12000, 0), false},
	} {
		log := agent.NewLog([]memory.Entry{{Seq: 1, Body: memory.Opened{Turn: 1, Name: "1"}}, {Seq: 2, Body: tt.before}}, agent.Claim{})
		if got := agent.Shortened(log, tt.now); got != tt.want {
			t.Errorf("%+v after %+v: %v", tt.now.Usage, tt.before.Usage, got)
		}
	}
}
