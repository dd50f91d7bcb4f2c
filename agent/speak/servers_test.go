package speak_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nod/agent/speak"
	"nod/internal/fakellm"
	"nod/llm"
	"nod/llm/openai"
)

// speaker answers as a model of a protocol does: it calls the clock as long as
// that is offered, and then says what it has.
func speaker(req fakellm.Request) fakellm.Reply {
	last := req.Last().Text()
	switch {
	case len(req.Tools) > 0:
		return fakellm.Reply{Text: "I look.", Calls: []fakellm.Call{{Name: "clock", Args: `{}`}}}
	case strings.HasSuffix(last, "\nThought: "):
		return fakellm.Reply{Text: "I look.\nAction: clock\nAction Input: {}"}
	case strings.Contains(last, "\nThought ") && strings.HasSuffix(last, ":"):
		return fakellm.Reply{Text: " I look.\nAction 1: Clock[]"}
	}
	return fakellm.Reply{Text: "noon"}
}

// bridged is a rule of Mistral's besides: no message of a person right behind a
// result.
func bridged(refused *atomic.Int64) func(fakellm.Request) fakellm.Reply {
	return func(req fakellm.Request) fakellm.Reply {
		for i, m := range req.Messages {
			if i > 0 && m.Role == "user" && req.Messages[i-1].Role == "tool" {
				refused.Add(1)
				return fakellm.Reply{Status: 400, Fault: "Unexpected role 'user' after role 'tool'"}
			}
		}
		return speaker(req)
	}
}

// dialogue is a conversation that goes on as package agent would have it.
type dialogue struct {
	t        *testing.T
	protocol speak.Protocol
	model    llm.Model
	prompt   speak.Prompt
	calls    int
}

// ask plays a turn: steps with calls, after each of which somebody writes and a
// picture comes, and the last call.
func (d *dialogue) ask(text string, image llm.Image) {
	d.t.Helper()
	d.prompt.LastCall, d.prompt.Plainly = false, false
	d.prompt.Turns = append(d.prompt.Turns, []speak.Item{{Said: "ada: " + text, Images: []llm.Image{image}}, {Said: "ben: and mine?"}})
	for step := range 3 {
		d.prompt.LastCall = step == 2
		d.prompt.Plainly = d.prompt.LastCall && len(d.prompt.Turns) > 2
		r, err := d.model.Complete(d.t.Context(), d.protocol.Request(d.prompt), nil)
		if err != nil {
			d.t.Fatalf("step %d of turn %d: %v", step+1, len(d.prompt.Turns), err)
		}
		tools := d.prompt.Tools
		if d.prompt.LastCall {
			tools = nil
		}
		d.add(d.protocol.Read(tools, r), r.Echo, image)
	}
}

func (d *dialogue) add(said speak.Completion, echo llm.Echo, image llm.Image) {
	d.t.Helper()
	turn := &d.prompt.Turns[len(d.prompt.Turns)-1]
	if said.Answer != "" {
		*turn = append(*turn, speak.Item{Answer: said.Answer})
		return
	}
	if len(said.Calls) == 0 {
		d.t.Fatalf("neither calls nor an answer: %+v", said)
	}
	do := &speak.Doing{Thought: said.Thought, Reasoned: said.Reasoned, Echo: echo, Images: []llm.Image{image}}
	for _, c := range said.Calls {
		d.calls++
		call := speak.Call{ID: fmt.Sprintf("1-%d-1", d.calls), Tool: c.Name, Args: c.Args, Object: json.Valid([]byte(c.Args))}
		do.Calls, do.Results = append(do.Calls, call), append(do.Results, "noon")
	}
	*turn = append(*turn, speak.Item{Step: do}, speak.Item{Said: "ben: quickly"})
}

// Every protocol goes through several turns with calls, pictures, messages that
// come meanwhile, last calls and another model in the middle, and then without a
// tool, with servers that refuse whatever any server refuses.
func TestStrictServers(t *testing.T) {
	t.Parallel()
	clock := llm.Tool{Name: "clock", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	image := llm.Image{MediaType: "image/png", Data: []byte("x")}
	for name, protocol := range map[string]speak.Protocol{"tools": speak.NativeTools{}, "react": speak.React{}, "numbered": speak.Numbered{}} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", name, stream), func(t *testing.T) {
				t.Parallel()
				var refused atomic.Int64
				server, mistral := fakellm.Start(t, speaker), fakellm.Start(t, bridged(&refused))
				d := &dialogue{t: t, protocol: protocol, prompt: speak.Prompt{
					System: "Be brief.", Left: "[Earlier messages are left out.]", Tools: []llm.Tool{clock},
					Examples: []speak.Example{{User: "hi", Assistant: "Hello."}},
				}}
				for i, s := range []*fakellm.Server{server, mistral, server, mistral} {
					d.model = openai.New(openai.Options{BaseURL: s.URL, Model: fmt.Sprint("m", i), Stream: stream})
					d.ask("what time is it?", image)
				}
				d.prompt.Tools, d.prompt.LastCall = nil, false
				d.prompt.Turns = append(d.prompt.Turns, []speak.Item{{Said: "ada: thanks"}})
				if _, err := d.model.Complete(t.Context(), protocol.Request(d.prompt), nil); err != nil {
					t.Errorf("without tools: %v", err)
				}
				if n := refused.Load(); n > 2 {
					t.Errorf("%d refusals by two models; each is to be learnt once", n)
				}
			})
		}
	}
}
