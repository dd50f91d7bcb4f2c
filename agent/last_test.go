package agent_test

import (
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// A model that answers the last call with calls and reasoning only is asked
// once more, plainly; then the turn says that there is no answer. Its reasoning
// is none.
func TestLastCallAnsweredWithCalls(t *testing.T) {
	t.Parallel()
	again := llm.Response{Reasoning: "I need more", Calls: []llm.Call{{ID: "x", Name: "calculator", Args: `{"expression":"1"}`}}, Finish: "tool_calls"}
	for name, tt := range map[string]struct {
		says    []llm.Response
		answers string
		notice  string
	}{
		"and then an answer":  {[]llm.Response{again, again, {Text: "It is 1."}}, "It is 1.", ""},
		"and then once more":  {[]llm.Response{again, again, again}, "", "I could not come to an answer"},
		"with words besides":  {[]llm.Response{again, {Text: "It is 1.", Calls: again.Calls}}, "It is 1.", ""},
		"and then it is mute": {[]llm.Response{again, again, {}}, "", "I could not come to an answer"},
		"without a word":      {[]llm.Response{again, {Calls: again.Calls}, {Text: "It is 1."}}, "It is 1.", ""},
		"with reasoning only": {[]llm.Response{again, {Reasoning: "hm"}, {Text: "It is 1."}}, "It is 1.", ""},
		"mute at once":        {[]llm.Response{again, {}}, "", "I could not come to an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th := &thread{t: t, agent: &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 1, Tools: []policy.Tool{textTool(t, shelf()[0])}}}
			th.observe = func(memory.Call) string { return "1" }
			th.model = func(n int) llm.Response {
				if n >= len(tt.says) {
					t.Fatalf("the model was called %d times", n+1)
				}
				return tt.says[n]
			}
			th.asks("how much is 1?")
			if got := strings.Join(th.answers, "|"); got != tt.answers {
				t.Errorf("answer %q, want %q", got, tt.answers)
			}
			if got := strings.Join(th.notices, "|"); !strings.HasPrefix(got, tt.notice) || tt.notice == "" && got != "" {
				t.Errorf("notice %q, want %q", got, tt.notice)
			}
			if len(th.requests) != len(tt.says) {
				t.Fatalf("%d model calls, want %d", len(th.requests), len(tt.says))
			}
			if r := th.requests[1]; !r.NoCalls || len(r.Tools) == 0 || !strings.Contains(last(r), speak.LastCall) {
				t.Errorf("the last call: %+v", r)
			}
			if len(tt.says) > 2 && !strings.Contains(last(th.requests[2]), "plain text") {
				t.Errorf("it is not asked plainly: %q", last(th.requests[2]))
			}
		})
	}
}

// A provider's echo goes back within the turn, whole, and never in later turns.
func TestEcho(t *testing.T) {
	t.Parallel()
	th := &thread{t: t, agent: &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 5, Tools: []policy.Tool{textTool(t, shelf()[0])}}}
	th.observe = func(memory.Call) string { return "1" }
	th.model = func(n int) llm.Response {
		if n == 0 {
			return llm.Response{Reasoning: "hm", Echo: llm.Echo(`{"signature":"s"}`), Calls: []llm.Call{{ID: "x", Name: "calculator", Args: `{"expression":"1"}`}}}
		}
		return llm.Response{Text: "1", Reasoning: "so", Echo: llm.Echo(`{"signature":"t"}`)}
	}
	th.asks("how much is 1?")
	th.asks("thanks")
	for i, want := range []string{"", `{"signature":"s"}`, ""} {
		got := ""
		for _, m := range th.requests[i].Messages {
			got += string(m.Echo)
			if strings.Contains(m.Text, "hm") {
				t.Errorf("request %d: reasoning as content: %q", i+1, m.Text)
			}
		}
		if got != want {
			t.Errorf("request %d echoes %q, want %q", i+1, got, want)
		}
	}
}

// The date in the prompt is that of the configured place.
func TestToday(t *testing.T) {
	t.Parallel()
	behind, ahead := time.FixedZone("behind", -8*3600), time.FixedZone("ahead", 9*3600)
	const before, after = "Today is Wednesday, 31 December 2025.", "Today is Thursday, 1 January 2026."
	for name, tt := range map[string]struct {
		zone   *time.Location
		person string
		want   string
	}{
		"nothing is known": {nil, "", after}, "a place is configured": {behind, "", before}, "the person's": {nil, "behind", before},
		"the configured one wins": {ahead, "behind", after}, "one that nobody knows": {nil, "nowhere", after},
	} {
		a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 1, Zone: tt.zone, Zones: func(name string) *time.Location {
			if name == "behind" {
				return behind
			}
			return nil
		}}
		th := &thread{t: t, agent: a, model: script(t, "Hello.")}
		th.add(memory.Message{Message: chat.Message{
			Ref: chat.MessageRef{Platform: "p", Channel: "c", ID: "m"}, From: chat.User{ID: "ada", Zone: tt.person}, Text: "hi",
		}})
		th.run()
		if got := th.requests[0].Messages[0].Text; !strings.Contains(got, tt.want) {
			t.Errorf("%s: the prompt says %q, want %q", name, got, tt.want)
		}
	}
}
