package speak_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/speak"
	"nod/llm"
)

// nine is what Mistral takes of a call's id.
var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// strict finds in a request what a strict server refuses.
func strict(r llm.Request) error {
	called := false
	var open []string
	for i, m := range r.Messages {
		switch {
		case m.Role == llm.System && i > 0:
			return fmt.Errorf("message %d: the system message must be at the beginning", i)
		case m.Role == llm.ToolRole && (len(open) == 0 || open[0] != m.CallID):
			return fmt.Errorf("message %d answers %q, and %v is open", i, m.CallID, open)
		case m.Role == llm.ToolRole:
			open = open[1:]
		case len(open) > 0:
			return fmt.Errorf("message %d: %v is open", i, open)
		}
		for _, c := range m.Calls {
			called = true
			open = append(open, c.ID)
			if !nine.MatchString(c.ID) || c.Name == "" {
				return fmt.Errorf("message %d: call %+v", i, c)
			}
		}
	}
	if called && len(r.Tools) == 0 {
		return fmt.Errorf("calls in the history, and no tools")
	}
	return nil
}

// Strict servers take the request of every protocol, for any prompt, and at the last
// call too.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, protocol := range []speak.Protocol{speak.NativeTools{}, speak.React{}, speak.Numbered{}} {
		for _, change := range []func(*speak.Prompt){
			func(*speak.Prompt) {},
			func(p *speak.Prompt) { p.LastCall = true },
			func(p *speak.Prompt) { p.LastCall, p.Plainly = true, true },
			func(p *speak.Prompt) { p.Tools = nil },
			func(p *speak.Prompt) { p.Tools, p.LastCall = nil, true },
			func(p *speak.Prompt) { p.Turns = p.Turns[1:2] },
		} {
			p := everything()
			number(&p)
			change(&p)
			if err := strict(protocol.Request(p)); err != nil {
				t.Errorf("%T: %v", protocol, err)
			}
		}
	}
}

// number gives the calls of a prompt ids, and one of them no name.
func number(p *speak.Prompt) {
	n := 0
	for _, items := range p.Turns {
		for _, it := range items {
			if it.Step == nil {
				continue
			}
			for i := range it.Step.Calls {
				n++
				it.Step.Calls[i].ID = fmt.Sprintf("1-%d-1", n)
				if n == 2 {
					it.Step.Calls[i].Tool = ""
				}
			}
		}
	}
}

// At the last call no call may be made, and the tools stay where the history
// has calls: those that there are, or the names of those that there were.
func TestLastCall(t *testing.T) {
	t.Parallel()
	clock := llm.Tool{Name: "clock"}
	asked := []speak.Item{{Said: "ada: hi"}}
	called := append(asked, speak.Item{Step: &speak.Doing{Calls: []speak.Call{{ID: "1", Tool: "gone"}, {ID: "2", Tool: "gone"}}, Results: []string{"a", "b"}}})
	for name, tt := range map[string]struct {
		prompt  speak.Prompt
		tools   []string
		noCalls bool
	}{
		"before":                       {speak.Prompt{Tools: []llm.Tool{clock}, Turns: [][]speak.Item{called}}, []string{"clock"}, false},
		"nothing was called":           {speak.Prompt{Tools: []llm.Tool{clock}, LastCall: true, Turns: [][]speak.Item{asked}}, nil, false},
		"something was called":         {speak.Prompt{Tools: []llm.Tool{clock}, LastCall: true, Turns: [][]speak.Item{called}}, []string{"clock"}, true},
		"with tools that are gone":     {speak.Prompt{LastCall: true, Turns: [][]speak.Item{called}}, []string{"gone"}, true},
		"no tool is there any more":    {speak.Prompt{Turns: [][]speak.Item{called}}, []string{"gone"}, true},
		"no tool is, and there was no": {speak.Prompt{Turns: [][]speak.Item{asked}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := speak.NativeTools{}.Request(tt.prompt)
			var tools []string
			for _, tool := range r.Tools {
				tools = append(tools, tool.Name)
			}
			if diff := cmp.Diff(tt.tools, tools); diff != "" || r.NoCalls != tt.noCalls {
				t.Errorf("tools (-want +got), no calls: %v\n%s", r.NoCalls, diff)
			}
			if last := r.Messages[len(r.Messages)-1]; tt.prompt.LastCall && (last.Role != llm.User || !strings.Contains(last.Text, speak.LastCall)) {
				t.Errorf("last message %+v", last)
			}
		})
	}
}

// A model calls tools by names that no provider takes back: what goes back has names that
// all take.
func TestOddToolNames(t *testing.T) {
	t.Parallel()
	takes := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	for _, name := range []string{"multi_tool_use.parallel", "look<|channel|>json", "functions.look", "", "look up", "default_api:look", strings.Repeat("long_", 20), "look\n", "工具", "клock"} {
		p := speak.Prompt{Tools: []llm.Tool{{Name: "look"}}, Turns: [][]speak.Item{{
			{Said: "ada: hi"}, {Step: &speak.Doing{Calls: []speak.Call{{ID: "1-1-1", Tool: name, Args: "{}", Object: true}}, Results: []string{"there is no such tool"}}},
		}}}
		for _, last := range []bool{false, true} {
			p.LastCall = last
			r := speak.NativeTools{}.Request(p)
			for _, m := range r.Messages {
				for _, c := range m.Calls {
					if !takes.MatchString(c.Name) {
						t.Errorf("%q goes back as %q", name, c.Name)
					}
				}
			}
			for _, tool := range r.Tools {
				if !takes.MatchString(tool.Name) {
					t.Errorf("%q is offered as %q", name, tool.Name)
				}
			}
		}
	}
}

// Reasoning is no content in any protocol, and goes back in its own form, beside the
// calls.
func TestReasoningIsNoContent(t *testing.T) {
	t.Parallel()
	const secret = "I had better ask the clock"
	p := speak.Prompt{Tools: []llm.Tool{{Name: "clock"}}, Turns: [][]speak.Item{{
		{Said: "ada: hi"},
		{Step: &speak.Doing{Thought: secret, Reasoned: true}},
		{Step: &speak.Doing{Thought: secret, Reasoned: true, Echo: llm.Echo(`{"a":1}`), Calls: []speak.Call{{ID: "1-1-1", Tool: "clock", Args: "{}", Object: true}}, Results: []string{"noon"}}},
	}}}
	for _, protocol := range []speak.Protocol{speak.NativeTools{}, speak.React{}, speak.Numbered{}} {
		echoes := ""
		for _, m := range protocol.Request(p).Messages {
			if strings.Contains(m.Text, secret) {
				t.Errorf("%T: reasoning as content: %q", protocol, m.Text)
			}
			echoes += string(m.Echo)
		}
		if _, native := protocol.(speak.NativeTools); native && echoes != `{"a":1}` {
			t.Errorf("echo %s", echoes)
		}
	}
}

// Text beside calls is said, reasoning is not, and none of it is an answer.
func TestNativeReads(t *testing.T) {
	t.Parallel()
	calls := []llm.Call{{Name: "clock"}}
	for name, tt := range map[string]struct {
		response llm.Response
		want     speak.Completion
	}{
		"an answer":                {llm.Response{Text: " noon\n"}, speak.Completion{Answer: "noon"}},
		"an answer and reasoning":  {llm.Response{Text: "noon", Reasoning: "hm"}, speak.Completion{Answer: "noon", Thought: "hm", Reasoned: true}},
		"calls and text":           {llm.Response{Text: "I look", Reasoning: "hm", Calls: calls}, speak.Completion{Thought: "I look", Calls: calls}},
		"calls and reasoning":      {llm.Response{Text: " \n", Reasoning: "hm", Calls: calls}, speak.Completion{Thought: "hm", Reasoned: true, Calls: calls}},
		"reasoning alone":          {llm.Response{Reasoning: "hm"}, speak.Completion{Thought: "hm", Reasoned: true}},
		"thoughts in the text":     {llm.Response{Text: "hm</think>noon"}, speak.Completion{Answer: "noon", Thought: "hm", Reasoned: true}},
		"nothing but white space ": {llm.Response{Text: "\n", Reasoning: " "}, speak.Completion{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, speak.NativeTools{}.Read(nil, tt.response)); diff != "" {
				t.Errorf("completion (-want +got):\n%s", diff)
			}
		})
	}
}

// A long prompt is written into a list that has room for all of it from the start: to
// let it grow costs as much again, in each call of the model.
func TestPromptDoesNotGrow(t *testing.T) {
	t.Parallel()
	p := speak.Prompt{System: "be kind", Left: "much", LastCall: true, Examples: []speak.Example{{User: "a", Assistant: "b"}}}
	for range 100 {
		p.Turns = append(p.Turns, []speak.Item{
			{Said: "look"},
			{Step: &speak.Doing{Thought: "hm"}},
			{Step: &speak.Doing{Calls: []speak.Call{{ID: "1", Tool: "look"}, {ID: "2", Tool: "look"}}, Results: []string{"x", "y"}, Images: []llm.Image{{}}}},
			{Answer: "found"},
		})
	}
	got := speak.NativeTools{}.Request(p).Messages
	const want, room = 5 + 100*6, 5 + 100*8 // a thought without a call becomes no message
	if len(got) != want || cap(got) != room {
		t.Errorf("%d messages in a list of %d, want %d in %d", len(got), cap(got), want, room)
	}
}
