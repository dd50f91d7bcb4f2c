package main

import (
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// speaker is a model that speaks a text protocol. It goes on past its stop
// words, as endpoints do that ignore them, with an observation of its own.
func speaker(act, invented, finish string) func(fakellm.Request) fakellm.Reply {
	return func(req fakellm.Request) fakellm.Reply {
		switch whole := req.Whole(); {
		case len(req.Tools) > 0:
			return fakellm.Reply{Status: 400, Fault: "this model has no tools"}
		case strings.Contains(whole, "it is 42"):
			return fakellm.Reply{Text: finish}
		}
		return fakellm.Reply{Text: act + invented}
	}
}

// A model without function calling works through the whole program, whether its
// endpoint keeps to stop words, ignores them or refuses them.
func TestTextProtocols(t *testing.T) {
	t.Parallel()
	const invented = "it is 41\nThought 2: 41, then.\nAction 2: Finish[It is 41.]\nFinal Answer: It is 41."
	rules := map[string]func(fakellm.Request) fakellm.Reply{
		"react":    speaker(" I look it up.\nAction: look\nAction Input: {}\n", "Observation: "+invented, " I know it.\nFinal Answer: It is 42."),
		"numbered": speaker(" I look it up.\nAction 1: Look[]\n", "Observation 1: "+invented, " I know it.\nAction 2: Finish[It is 42.]"),
	}
	for name, rule := range rules {
		for kind, rule := range map[string]func(fakellm.Request) fakellm.Reply{
			"ignores stop": rule,
			"refuses stop": func(req fakellm.Request) fakellm.Reply {
				if len(req.Stop) > 0 {
					return fakellm.Reply{Status: 400, Fault: "Unsupported parameter: 'stop' is not supported with this model."}
				}
				return rule(req)
			},
		} {
			for _, stream := range []string{"true", "false"} {
				t.Run(name+" "+kind+" stream="+stream, func(t *testing.T) {
					t.Parallel()
					w := newSlackWorld(t, fakeslack.Options{})
					n := newService(t, w, rule, setup{llm: "protocol: " + name + ", stream: " + stream})
					n.start()
					at := w.mention("ada", "what is it?")
					n.find(at, "It is 42.")
					if c := n.count(at, "It is 41."); c != 0 {
						t.Error("an observation that the model made up was believed")
					}
					if text := w.open("ada", n.find(at, "2 steps", "look")); !holds(text, []string{"I look it up.", "it is 42"}) || strings.Contains(text, "41") {
						t.Errorf("the steps say:\n%s", text)
					}
				})
			}
		}
	}
}
