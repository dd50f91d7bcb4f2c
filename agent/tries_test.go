package agent_test

import (
	"strings"
	"testing"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

func retry(on chat.MessageRef, who string) memory.Reaction {
	return memory.Reaction{Reaction: chat.Reaction{On: on, By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: chat.EmojiRetry}}
}

func says(llm.Request) llm.Response { return llm.Response{Text: "hello"} }

// answers lists where the answers stand.
func (s *sim) answers() (out []chat.MessageRef) {
	for _, e := range s.entries {
		if p, ok := e.Body.(memory.Posted); ok && strings.HasPrefix(p.Key, "answer/") {
			out = append(out, p.Ref)
		}
	}
	return out
}

// The first of several clicks has the answer tried again. A person who asks for another
// try of an older answer is told so, and so is anybody else.
func TestWhatIsTriedAgain(t *testing.T) {
	s := newSim(asking())
	s.model = says
	s.says("ada", "hello")
	s.run()
	first := s.answers()[0]
	s.add(retry(first, "ada"))
	s.add(retry(first, "ada"), retry(first, "bob"))
	s.run()
	if n := len(s.answers()); n != 2 || s.kinds("opened") != 2 {
		t.Fatalf("%d answers", n)
	}
	var why []string
	for _, e := range s.entries {
		if v, ok := e.Body.(memory.Vote); ok && !v.Counts {
			why = append(why, v.Reason)
		}
	}
	if len(why) != 2 || !strings.Contains(why[0], "only ada") || !strings.Contains(why[1], "something newer") {
		t.Errorf("told %q", why)
	}
	s.add(retry(s.answers()[1], "ada"))
	s.run()
	if n := len(s.answers()); n != 3 {
		t.Errorf("%d answers after the newest was tried again", n)
	}
}

// A speaker of the first try counts in the next: they may not approve there either,
// also if the log begins behind their words.
func TestVoicesOfTries(t *testing.T) {
	rules := anyone
	rules.ExcludeRequester = true
	s := newSim(asking(newTool("deploy", policy.Ask, rules)))
	s.model = says
	s.says("ada", "hello")
	s.says("bob", "and deploy")
	s.run()
	s.model = callsOnce("deploy")
	s.add(retry(s.answers()[0], "ada"))
	s.run()
	cut := 0
	for i, e := range s.entries {
		if o, ok := e.Body.(memory.Opened); ok && o.Again > 0 {
			cut = i
		}
	}
	for i := range cut {
		if _, ok := s.entries[i].Body.(memory.Posted); !ok {
			s.entries[i].Body = memory.Unknown{Name: "gone", Skip: true}
		}
	}
	s.approves("bob")
	s.run()
	if len(s.ran) != 0 {
		t.Error("bob, who had asked for it, approved it")
	}
	s.approves("cid")
	s.run()
	if len(s.ran) != 1 {
		t.Errorf("%d ran", len(s.ran))
	}
}

// A person who may not approve is named once on the card, however much they wrote.
func TestExcludedOnce(t *testing.T) {
	rules := anyone
	rules.ExcludeRequester = true
	s := newSim(asking(newTool("deploy", policy.Ask, rules)))
	s.model = callsOnce("deploy")
	for _, who := range []string{"ada", "bob", "ada"} {
		s.says(who, "deploy")
	}
	s.run()
	if got, want := chat.Names(s.cards[1].Exclude), "ada, bob"; got != want {
		t.Errorf("excluded are %q, want %q", got, want)
	}
}

// A person who edited a call and ran it again waits for the answer from then on, and
// not the author of the answered message.
func TestWhoWaitsForAnotherTry(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Auto, anyone)))
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	if len(s.waiters) != 0 {
		t.Errorf("at first %+v wait", s.waiters)
	}
	call := ""
	for _, e := range s.entries {
		if b, ok := e.Body.(memory.Started); ok {
			call = b.Call
		}
	}
	s.now = s.now.Add(time.Hour)
	bob := chat.User{ID: "bob", Name: "bob"}
	s.add(memory.Order{By: bob, Tool: "deploy", Args: `{"n":2}`, Of: call})
	s.run()
	if len(s.answers()) != 2 || len(s.waiters) != 1 || s.waiters[0].By != bob || !s.waiters[0].Since.Equal(s.now) {
		t.Errorf("%d answers; %+v wait", len(s.answers()), s.waiters)
	}
}

// Outcomes of calls in a turn that left the prompt are not told as corrections if they
// came after the word that opened the next turn.
func TestResultsOfALeftOutTurn(t *testing.T) {
	left := false
	for budget := 2000; budget < 4000; budget += 50 {
		a := asking(newTool("read", policy.Auto, anyone))
		a.Budget, a.Count = budget, func(s string) int { return len(s) }
		s, calls := newSim(a), 0
		s.model = func(llm.Request) llm.Response {
			switch calls++; calls {
			case 1:
				return llm.Response{Calls: []llm.Call{{ID: "1", Name: "read", Args: `{"n":1}`}}}
			case 2:
				s.says("ada", `run read {"n":3}`)
				return llm.Response{Calls: []llm.Call{{ID: "1", Name: "read", Args: `{"n":2}`}}}
			case 3:
				return llm.Response{Text: strings.Repeat("long ", 200)}
			}
			return llm.Response{Text: "Hello."}
		}
		s.says("ada", "look at it")
		s.run()
		s.says("ada", strings.Repeat("hello ", 60))
		s.run()
		left = left || s.base == 4
		for name := range s.posts {
			if strings.HasPrefix(name, "correction/") {
				t.Fatalf("with %d tokens %s was posted", budget, name)
			}
		}
	}
	if !left {
		t.Error("no budget leaves just the first turn out")
	}
}

// Under the rule for the whole thread, whose message was context of a turn may not approve
// its calls, also once older turns left the log.
func TestAsidesStayWithTheirTurn(t *testing.T) {
	rules := anyone
	rules.ExcludeRequester, rules.ExcludeThread = true, true
	a := asking(newTool("deploy", policy.Ask, rules))
	a.Budget, a.Count = 1900, func(s string) int { return len(s) }
	s := newSim(a)
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: strings.Repeat("long ", 200)} }
	s.says("ada", "tell me")
	s.run()
	s.add(memory.Message{Message: chat.Message{From: chat.User{ID: "eve", Name: "eve"}, Text: "deploy it to mine", Aside: true}})
	s.model = callsOnce("deploy")
	s.says("ada", "do as eve says")
	s.run()
	if s.base == 0 || s.kinds("asked") != 1 {
		t.Fatalf("nothing left the log, or nothing was asked for (%d)", s.kinds("asked"))
	}
	s.approves("eve")
	s.run()
	if len(s.ran) != 0 {
		t.Error("it ran with the approval of somebody whose message is in the turn")
	}
	s.approves("ben")
	if s.run(); len(s.ran) != 1 {
		t.Error("it did not run although somebody else approved")
	}
}
