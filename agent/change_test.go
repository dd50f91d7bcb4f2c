package agent_test

import (
	"strings"
	"testing"
	"time"

	"nod/agent/approval"
	"nod/agent/policy"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

func deploying(rules memory.Rules) *sim {
	tool := newTool("deploy", policy.Ask, rules)
	schema, err := args.Compile([]byte(`{"type":"object","properties":{"to":{"enum":["a","b"]}},"additionalProperties":false}`))
	if err != nil {
		panic(err)
	}
	tool.Schema = schema
	s := newSim(asking(tool))
	s.model = callsOnce("deploy")
	s.says("ada", "deploy")
	s.run()
	return s
}

// approves has somebody put ✅ on the card.
func (s *sim) approves(who string) {
	s.add(memory.Reaction{Reaction: chat.Reaction{On: s.asked(), By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: "✅"}})
}

func (s *sim) lastChange() (b memory.Changed) {
	for _, e := range s.entries {
		if c, ok := e.Body.(memory.Changed); ok {
			b = c
		}
	}
	return b
}

// A person who may not decide changes nothing. Nobody changes a call so that it does
// not fit its tool, or so that nobody could approve it.
func TestRefusedChanges(t *testing.T) {
	alone := memory.Rules{Approvers: []string{"user:ben"}, Quorum: 1, ExcludeRequester: true, Timeout: 30 * time.Minute, Approve: []string{"✅"}, Deny: []string{"❌"}}
	requester := anyone
	requester.Approvers = []string{"requester"}
	tests := []struct {
		rules           memory.Rules
		who, says, want string
	}{
		{requester, "eve", `edit 1 {"to":"a"}`, "only these may decide: requester"},
		{requester, "ada", `edit 1 {"to":"c"}`, "the arguments don't fit"},
		{requester, "ada", `edit {"to":"a"}`, ""},
		{requester, "ada", "edit 1 `{\"to\":\"b\"}`", ""},
		{requester, "ada", "Edit 1\n```json\n{\n  \"to\": \"b\"\n}\n```", ""},
		{requester, "ada", `edit 1 {“to”: “b”}`, ""},
		{requester, "ada", `edit 1 {"to":"b"`, "these arguments are no JSON object"},
		{alone, "ben", `edit 1 {"to":"a"}`, "then nobody could approve it"},
		{alone, "ada", `edit 1 {"to":"a"}`, ""},
	}
	for _, tt := range tests {
		s := deploying(tt.rules)
		s.says(tt.who, tt.says)
		s.run()
		b := s.lastChange()
		if b.Request == 0 || !strings.HasPrefix(b.Refused, tt.want) || tt.want == "" && b.Refused != "" {
			t.Errorf("%s, %s: refused with %q, want %q", tt.who, tt.says, b.Refused, tt.want)
		}
	}
	s := deploying(requester)
	s.says("ada", "edit the docs {please}")
	if s.run(); s.lastChange().Request != 0 {
		t.Error("a sentence that begins with edit changed a call")
	}
}

// The audit log says why a change was not made without a word of what somebody wrote; the
// person is told which.
func TestRefusedChangeInTheAudit(t *testing.T) {
	for says, named := range map[string]string{`edit 1 {"to":"a","hunter2":1}`: "hunter2", `edit 1 {"hunter2":1,"hunter2":2}`: "hunter2"} {
		s := deploying(anyone)
		s.says("ada", says)
		s.run()
		if b := s.lastChange(); !strings.Contains(b.Refused, named) {
			t.Errorf("%s: refused with %q, which does not name %s", says, b.Refused, named)
		}
		reason := ""
		for _, l := range memory.EffectsOf(chat.ThreadID{}, s.entries).Audit {
			if l.Event == "ignored" {
				reason = l.Reason
			}
		}
		if reason == "" || strings.Contains(reason, named) {
			t.Errorf("%s: in the audit log %q", says, reason)
		}
	}
}

// A vote for a call that was changed counts only when it came after the card showed
// what would run now; a denial always does.
func TestVotesAndChanges(t *testing.T) {
	for _, emoji := range []string{"✅", "❌"} {
		s := deploying(anyone)
		s.says("ada", `edit 1 {"to":"a"}`)
		for s.lastChange().Request == 0 { // the card is not redrawn yet
			s.perform(s.agent.Next(s.log()))
		}
		s.add(memory.Reaction{Reaction: chat.Reaction{On: s.asked(), By: chat.User{ID: "ben"}, Emoji: emoji}})
		s.run()
		if denied := emoji == "❌"; (s.kinds("decided") == 1) != denied || len(s.ran) != 0 {
			t.Errorf("%s: %d decided, %d ran", emoji, s.kinds("decided"), len(s.ran))
		}
		if emoji == "✅" {
			s.approves("ben")
			if s.run(); len(s.ran) != 1 {
				t.Error("an approval of what the card shows did not count")
			}
		}
	}
}

// A form does the same as the word, and after a decision nothing changes any more.
func TestChangesByForm(t *testing.T) {
	s := deploying(anyone)
	call := ""
	for _, e := range s.entries {
		if a, ok := e.Body.(memory.Asked); ok {
			call = a.Call
		}
	}
	form := memory.Change{Call: call, By: chat.User{ID: "ben", Name: "ben"}, Args: `{"to":"b"}`}
	s.check = func(c memory.Call) {
		if c.Args != `{"to":"b"}` {
			t.Errorf("%s runs", c.Args)
		}
	}
	s.add(form)
	s.run()
	s.approves("ben")
	s.run()
	s.add(form)
	s.run()
	if b := s.lastChange(); len(s.ran) != 1 || !strings.HasPrefix(b.Refused, "it is already decided") {
		t.Errorf("%d ran, the second change: %q", len(s.ran), b.Refused)
	}
}

// A person who denied a call is told what the judge said of that, and nothing before.
func TestJudgedDenials(t *testing.T) {
	requester := anyone
	requester.Approvers = []string{"requester"}
	s := deploying(requester)
	for _, tt := range []struct{ who, want string }{
		{"eve", "Your reaction does not count: only these may decide: requester."},
		{"ada", "The call is denied."},
		{"eve", "Your reaction does not count: it is already decided: Denied."},
	} {
		s.add(memory.Reaction{Reaction: chat.Reaction{On: s.asked(), By: chat.User{ID: chat.UserID(tt.who)}, Emoji: "❌", Button: true}})
		s.run()
		var id string
		for _, e := range s.entries {
			if v, ok := e.Body.(memory.Vote); ok {
				id = v.Call
			}
		}
		if got := approval.Judged(s.entries, id, chat.UserID(tt.who)); got != tt.want {
			t.Errorf("%s is told %q, want %q", tt.who, got, tt.want)
		}
		if got := approval.Judged(s.entries, id, "bob"); got != "" {
			t.Errorf("bob is told %q", got)
		}
	}
}
