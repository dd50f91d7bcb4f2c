package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

func asking(tools ...policy.Tool) *agent.Agent {
	return &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 5, Count: func(s string) int { return len(s)/4 + 1 }, Tools: tools}
}

var anyone = memory.Rules{Approvers: []string{"anyone"}, Quorum: 1, Timeout: 30 * time.Minute, Approve: []string{"✅"}, Deny: []string{"❌"}}

// callsOnce is a model that calls a tool once and then answers.
func callsOnce(name string) func(llm.Request) llm.Response {
	called := false
	return func(llm.Request) llm.Response {
		if called {
			return llm.Response{Text: "done", Finish: "stop"}
		}
		called = true
		return llm.Response{Calls: []llm.Call{{ID: "1", Name: name, Args: "{}"}}, Finish: "tool_calls"}
	}
}

func (s *sim) kinds(kind string) (n int) {
	for _, e := range s.entries {
		if e.Body.Kind() == kind {
			n++
		}
	}
	return n
}

// An answer that the platform refuses is told of, and once more where a store lost
// that, with what people asked since: a word that stands there is not taken for it.
func TestRefusedOnceMore(t *testing.T) {
	key := func(at int) string {
		s := newSim(asking())
		for i, b := range []memory.Body{
			memory.Message{Message: chat.Message{From: chat.User{ID: "ada", Name: "ada"}, Text: "hello"}},
			memory.Opened{Turn: 1, Name: "1-aa", Requester: chat.User{ID: "ada", Name: "ada"}},
			memory.Step{Turn: 1, N: 1, Seen: 1, Answer: "rude"},
			memory.Posted{Key: "answer/1-aa~1", Refused: "Slack refused my answer (no)"},
		} {
			s.entries = append(s.entries, memory.Entry{Seq: uint64(i + 1), At: s.now.Add(time.Duration(i*at) * time.Second), Body: b})
		}
		act, ok := s.agent.Next(agent.NewLog(s.entries, agent.Claim{Since: 9})).(do.Post)
		if !ok || act.Post.Text == nil || act.Post.Text.Markdown != "Slack refused my answer (no)" {
			t.Fatalf("next is %+v", act)
		}
		return act.Post.Key
	}
	if a, b := key(1), key(60); a == b || a != key(1) {
		t.Errorf("the keys are %s and %s", a, b)
	}
}

// A message sent before `forget` is nobody's question any more, also if it arrives
// before the erasure. A message sent after it is one.
func TestForgetsWhatCameLate(t *testing.T) {
	s := newSim(asking())
	say := func(seq uint64, text string, sent time.Duration) memory.Entry {
		m := chat.Message{From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: s.now.Add(sent)}
		return memory.Entry{Seq: seq, At: s.now.Add(time.Hour), Body: memory.Message{Message: m}}
	}
	s.entries = []memory.Entry{say(1, "forget", time.Minute), say(2, "what was said before", 0), say(3, "a new question", 2*time.Minute)}
	log := agent.NewLog(s.entries, agent.Claim{Since: 9})
	act, ok := s.agent.Next(log).(do.Record)
	if !ok || len(act.Bodies) != 1 {
		t.Fatalf("next is %+v", act)
	}
	log.Append(memory.Entry{Seq: 4, At: s.now.Add(time.Hour), Body: act.Bodies[0]}, memory.Entry{Seq: 5, Body: memory.Posted{Key: "forgot/4"}})
	call, ok := s.agent.Next(log).(do.Call)
	if !ok || call.Turn != 3 {
		t.Errorf("next is %+v, want the turn of message 3", call)
	}
}

// A clock that was ahead once, or a server whose clock is behind that of the one
// before, ends no approval before its time, and lets none stay open.
func TestClockThatJumps(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = callsOnce("deploy")
	s.now = s.now.Add(24 * time.Hour)
	s.says("bob", "help") // an entry from tomorrow
	s.run()
	s.now = s.now.Add(-24 * time.Hour)
	s.says("ada", "deploy")
	until := s.run()
	if s.kinds("decided") != 0 || s.kinds("asked") != 1 {
		t.Fatalf("%d asked, %d decided; want one that waits", s.kinds("asked"), s.kinds("decided"))
	}
	if want := s.now.Add(30 * time.Minute); !until.Equal(want) {
		t.Errorf("it waits until %v, want %v", until, want)
	}
	s.now = until
	s.add(memory.Due{})
	s.run()
	if s.kinds("decided") != 1 || len(s.ran) != 0 {
		t.Errorf("%d decided and %d ran after the time was over, want 1 and none", s.kinds("decided"), len(s.ran))
	}
}

// Emoji that people put on something long before an approval was asked for are not
// judged when one is.
func TestOldThumbs(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "hello", Finish: "stop"} }
	s.says("ada", "hi")
	s.run()
	for i := range 5 {
		s.add(memory.Reaction{Reaction: chat.Reaction{On: ref("answer/1"), By: chat.User{ID: chat.UserID(fmt.Sprint("u", i))}, Emoji: "✅"}})
	}
	s.run()
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	if n := s.kinds("vote"); n != 0 {
		t.Errorf("%d reactions were judged, want none", n)
	}
	// One that is put elsewhere while it waits may have been meant for it.
	s.add(memory.Reaction{Reaction: chat.Reaction{On: ref("answer/1"), By: chat.User{ID: "u9"}, Emoji: "✅"}})
	s.run()
	if n := s.kinds("vote"); n != 1 {
		t.Errorf("%d reactions were judged, want the one that was put elsewhere", n)
	}
}

// An approved call is a side effect: it begins once, on the record, and does not run
// again after a crash, even if its tool says that it changes nothing.
func TestApprovedReadOnly(t *testing.T) {
	tool := newTool("read", policy.Ask, anyone)
	s := newSim(asking(tool))
	s.model = callsOnce("read")
	s.says("ada", "look")
	s.run()
	ask := ""
	for _, e := range s.entries {
		if p, ok := e.Body.(memory.Posted); ok {
			if _, asks := memory.Asks(p.Key); asks {
				ask = memory.PostName(p.Key)
			}
		}
	}
	s.add(memory.Reaction{Reaction: chat.Reaction{On: ref(ask), By: chat.User{ID: "bob"}, Emoji: "✅"}})
	dies := true
	s.check = func(memory.Call) {}
	s.crash = func() bool {
		last := s.entries[len(s.entries)-1].Body
		if _, began := last.(memory.Started); began && dies {
			dies = false
			return true
		}
		return false
	}
	s.run()
	if s.kinds("started") != 1 || len(s.ran) != 0 {
		t.Errorf("%d started, %d ran; want it begun once, and not again after the crash", s.kinds("started"), len(s.ran))
	}
	if r := s.lastResult(); r.State != chat.CallUnknown {
		t.Errorf("its result is %q, want that its outcome is unknown", r.State)
	}
}

func (s *sim) lastResult() (r memory.Result) {
	for _, e := range s.entries {
		if b, ok := e.Body.(memory.Result); ok {
			r = b
		}
	}
	return r
}

// Somebody whose messages were trimmed away takes part in the thread still, after a
// reload as before it: what a log comes to does not depend on who reads it.
func TestPeopleOutliveATrim(t *testing.T) {
	s := newSim(asking(newTool("read", policy.Auto, anyone)))
	s.agent.Budget = 600
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "I see.", Finish: "stop"} }
	s.says("eve", "hello")
	s.run()
	for range 40 {
		s.says("ada", "a question of some length, so that the oldest turns have to go: what is it that we were talking about?")
		s.run()
	}
	if s.base == 0 {
		t.Fatal("nothing was trimmed")
	}
	s.says("ada", "one more")
	s.add(memory.Reaction{Reaction: chat.Reaction{On: ref(fmt.Sprint("m", len(s.entries))), By: chat.User{ID: "eve"}, Emoji: chat.EmojiStop}})
	s.run()
	if s.kinds("stopped") != 1 {
		t.Error("a stop of somebody who wrote long ago did not count after a reload")
	}
	st := view.Standing(s.log().Thread)
	if len(st.Callers) != 2 || !st.Known {
		t.Errorf("callers %v, known %v; want eve and ada", st.Callers, st.Known)
	}
}

// Commands that are over do not make a thread slower for ever.
func TestManyCommands(t *testing.T) {
	s := newSim(asking())
	for range 3000 {
		s.says("ada", "help")
		s.run()
	}
	if left := len(s.entries) - s.base; left > 4100 {
		t.Errorf("%d of %d entries are still loaded", left, len(s.entries))
	}
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "yes", Finish: "stop"} }
	s.says("ada", "are you there?")
	s.run()
	if s.posts["answer/"+fmt.Sprint(len(s.entries))] == 0 && s.kinds("ended") != 1 {
		t.Error("the question after them was not answered")
	}
	if n := s.kinds("trimmed"); n == 0 || n > 5 {
		t.Errorf("%d trims, want a few", n)
	}
}

// A reason given after a click on Deny reaches the model, and the turn waits for it,
// but no longer than a minute.
func TestReasonOfADenial(t *testing.T) {
	for _, given := range []bool{true, false} {
		s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
		s.model = callsOnce("deploy")
		s.says("ada", "deploy")
		s.run()
		call, ask := "", ""
		for _, e := range s.entries {
			if p, ok := e.Body.(memory.Posted); ok {
				if c, asks := memory.Asks(p.Key); asks {
					call, ask = c, memory.PostName(p.Key)
				}
			}
		}
		s.add(memory.Reaction{Reaction: chat.Reaction{On: ref(ask), By: chat.User{ID: "bob", Name: "bob"}, Emoji: "❌", Button: true}})
		until := s.run()
		if s.kinds("result") != 0 || !until.Equal(s.now.Add(time.Minute)) {
			t.Fatalf("%d results, waits until %v; want it to wait a minute for the reason", s.kinds("result"), until)
		}
		if v, _, _, _ := s.agent.StepsPost(s.log()); strings.HasPrefix(v.Steps.Status, "Running") || v.Steps.Items[0].Calls[0].State != chat.CallDenied {
			t.Errorf("the steps say %q of a denied call, %s", v.Steps.Status, v.Steps.Items[0].Calls[0].State)
		}
		s.add(memory.Reason{Call: call, By: chat.User{ID: "eve", Name: "eve"}, Text: "run it by hand"})
		if s.run(); s.kinds("result") != 0 {
			t.Error("the turn went on with the reason of somebody who denied nothing")
		}
		want := "denied by bob, so the call did not run."
		if given {
			s.add(memory.Reason{Call: call, By: chat.User{ID: "bob", Name: "bob"}, Text: "too late in the day"})
			want = "denied by bob: too late in the day (The call did not run.)"
		} else {
			s.now = until
			s.add(memory.Due{})
		}
		s.run()
		if r := s.lastResult(); r.Text != want {
			t.Errorf("the model is told %q, want %q", r.Text, want)
		}
	}
}

// Inbox entries count for an adapter too: a word that mutes or unmutes holds from its
// Put on.
func TestStandingWithInbox(t *testing.T) {
	s := newSim(asking())
	s.says("ada", "mute")
	s.run()
	early := time.Unix(1000, 0)
	unmute := memory.Entry{Body: memory.Message{Message: chat.Message{From: chat.User{ID: "bob"}, Text: "Unmute", Sent: early}}}
	if st := view.Standing(s.log().Thread); !st.Muted || len(st.Callers) != 1 {
		t.Errorf("muted %v, callers %v; want muted by ada", st.Muted, st.Callers)
	}
	if st := view.Standing(s.log().Thread, unmute); st.Muted || len(st.Callers) != 2 || !st.Running || !st.First.Equal(early) {
		t.Errorf("muted %v, callers %v, running %v, first %v; want it unmuted by bob", st.Muted, st.Callers, st.Running, st.First)
	}
}

// In a thread that it follows, what people say to each other calls nobody, and is
// shown with the next question as what it is.
func TestAsides(t *testing.T) {
	s := newSim(asking())
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "Tuesday.", Finish: "stop"} }
	s.add(memory.Message{Message: chat.Message{Ref: ref("a1"), From: chat.User{ID: "bob", Name: "bob"}, Text: "the release is on Tuesday", Aside: true}})
	s.run()
	if s.kinds("opened") != 0 {
		t.Fatal("a word between people opened a turn")
	}
	s.says("ada", "when is the release?")
	s.run()
	if len(s.prompts) != 1 {
		t.Fatalf("%d model calls, want 1", len(s.prompts))
	}
	text := ""
	for _, m := range s.prompts[0].Messages {
		text += m.Text + "\n"
	}
	if want := "bob: (to somebody else) the release is on Tuesday"; !strings.Contains(text, want) {
		t.Errorf("the prompt does not hold %q:\n%s", want, text)
	}
}

// A message between people that was edited or deleted before any model call saw it is
// shown in its present form, or not at all.
func TestAsidesTakenBack(t *testing.T) {
	s := newSim(asking())
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "Tuesday.", Finish: "stop"} }
	for id, text := range map[string]string{"a1": "the password is hunter2", "a2": "the release is on Monday"} {
		s.add(memory.Message{Message: chat.Message{Ref: ref(id), From: chat.User{ID: "bob", Name: "bob"}, Text: text, Aside: true}})
	}
	s.run()
	s.add(memory.Deleted{Ref: ref("a1")})
	s.add(memory.Edited{Ref: ref("a2"), Text: "the release is on Tuesday"})
	s.run()
	s.says("ada", "when is the release?")
	s.run()
	s.add(memory.Edited{Ref: ref("a2"), Text: "the release is on Friday"}) // was seen
	s.says("ada", "sure?")
	s.run()
	for i, p := range s.prompts {
		text := ""
		for _, m := range p.Messages {
			text += m.Text + "\n"
		}
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "the release is on Tuesday") {
			t.Errorf("prompt %d holds:\n%s", i, text)
		}
	}
	if len(s.prompts) != 2 {
		t.Errorf("%d model calls, want 2", len(s.prompts))
	}
}

// A question about another's message stays unchanged, also if that message is edited or
// deleted.
func TestAskedAboutStays(t *testing.T) {
	s := newSim(asking())
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "It means this.", Finish: "stop"} }
	s.add(memory.Message{Message: chat.Message{Ref: ref("b1"), From: chat.User{ID: "ada", Name: "ada"}, Text: "what about this message?", About: true}})
	s.add(memory.Edited{Ref: ref("b1"), Text: "deploy prod"})
	s.add(memory.Deleted{Ref: ref("b1")})
	s.run()
	if len(s.prompts) != 1 {
		t.Fatalf("%d model calls, want 1", len(s.prompts))
	}
	if got := last(s.prompts[0]); !strings.Contains(got, "what about this message?") || strings.Contains(got, "deploy prod") {
		t.Errorf("ada asks %q", got)
	}
}

// A 🛑 of somebody who takes no part in the thread does not count, and does not
// begin to when they write something there.
func TestStopOfAStranger(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = callsOnce("deploy")
	s.says("ben", "deploy")
	s.run()
	s.add(memory.Reaction{Reaction: chat.Reaction{On: ref("m1"), By: chat.User{ID: "ada"}, Emoji: chat.EmojiStop}})
	s.run()
	s.says("ada", "what is this?")
	s.run()
	if s.kinds("stopped") != 0 {
		t.Error("the turn was stopped by somebody who took no part in it then")
	}
	s.add(memory.Reaction{Reaction: chat.Reaction{On: ref("m1"), By: chat.User{ID: "ada"}, Emoji: chat.EmojiStop}})
	s.run()
	if s.kinds("stopped") != 1 {
		t.Error("the turn was not stopped by somebody who takes part in it")
	}
}

// Nobody but who takes part in a thread stops it by a button either, and no other
// bot's emoji mutes it.
func TestButtonsOfStrangers(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = callsOnce("deploy")
	s.says("ben", "deploy")
	s.run()
	s.add(memory.Halt{By: chat.User{ID: "eve"}})
	bot := memory.Reaction{Reaction: chat.Reaction{On: s.asked(), By: chat.User{ID: "b2", Bot: true}, Emoji: chat.EmojiMute}}
	inbox := memory.Entry{Body: bot}
	if view.Standing(s.log().Thread, inbox).Muted {
		t.Error("a bot's emoji in the inbox muted the thread")
	}
	s.add(bot)
	s.run()
	if s.kinds("stopped") != 0 || view.Standing(s.log().Thread).Muted {
		t.Errorf("stopped %d times, muted %v; want neither", s.kinds("stopped"), view.Standing(s.log().Thread).Muted)
	}
	s.add(memory.Halt{By: chat.User{ID: "ben"}})
	if s.run(); s.kinds("stopped") != 1 {
		t.Error("the button of who asked did not stop the turn")
	}
}

// A message that a program sent is a question, and no word: it votes, changes, stops,
// switches and runs nothing, also in a person's name.
func TestWordsOfProgramsAreNone(t *testing.T) {
	for _, text := range []string{"y", "y 1", "n 1", `edit 1 {"n":2}`, "allow 1 5x", "stop", "forget", "mute", "tools off deploy", `run deploy {"n":3}`} {
		s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
		s.model = callsOnce("deploy")
		s.says("ada", "deploy")
		s.run()
		s.add(memory.Message{Message: chat.Message{From: chat.User{ID: "ada", Name: "ada", Bot: true}, Text: text}})
		s.run()
		th := s.log().Thread
		if len(th.PendingCalls()) != 1 || s.kinds("vote")+s.kinds("changed")+s.kinds("stopped") > 0 || th.Folk.Muted || len(th.Folk.Off) > 0 || len(s.ran) > 0 {
			t.Errorf("%q was a word: %d wait, %v ran", text, len(th.PendingCalls()), s.ran)
		}
	}
}

// Bots that answer each other get five turns in a row, and are told once that a person has
// to write. A person's word gives them five more.
func TestBotsAmongThemselves(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "hello, bot"} }
	for _, want := range []int{5, 6 + 5} {
		for range 20 {
			s.add(memory.Message{Message: chat.Message{From: chat.User{ID: "bot", Name: "bot", Bot: true}, Text: "hello, nod"}})
			s.run()
		}
		told := 0
		for _, text := range s.texts {
			told += strings.Count(text, "Only bots asked here")
		}
		if n := s.kinds("ended"); n != want || told != (want+1)/6 {
			t.Errorf("%d turns, told %d times; want %d turns", n, told, want)
		}
		s.says("ada", "what are you two doing?")
		s.run()
	}
}

// asked is the message that asks for the first approval.
func (s *sim) asked() chat.MessageRef {
	for _, e := range s.entries {
		if p, ok := e.Body.(memory.Posted); ok {
			if _, asks := memory.Asks(p.Key); asks {
				return ref(memory.PostName(p.Key))
			}
		}
	}
	return chat.MessageRef{}
}

// A card that was cancelled names nobody, whoever stopped the turn.
func TestHeadlineOfACancelledCall(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = callsOnce("deploy")
	s.says("ben", "deploy")
	s.run()
	s.says("ben", "stop")
	s.run()
	for _, l := range view.History(s.log().Thread) {
		if l.Post != nil && l.Post.Approval != nil && l.Post.Approval.Headline != "Cancelled" {
			t.Errorf("the card says %q", l.Post.Approval.Headline)
		}
	}
}

// A turn that is given up while an approval waits does not leave the card asking, and
// nothing that is said of it later runs.
func TestGivenUpWhileAsking(t *testing.T) {
	s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	s.add(s.agent.GiveUp(s.log())...)
	s.approves("ben")
	s.run()
	if card := s.cards[1]; card.Outcome != chat.Cancelled || len(s.ran) != 0 || s.kinds("ended") != 1 {
		t.Errorf("the card says %q, %d calls ran, %d turns ended", card.Headline, len(s.ran), s.kinds("ended"))
	}
}
