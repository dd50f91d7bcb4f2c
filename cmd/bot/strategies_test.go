package main

import (
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// thinker is a model that plans, drafts and checks when it is told to. Its
// first answer to a question is wrong.
func thinker(req fakellm.Request) fakellm.Reply {
	whole, last := req.Whole(), req.Last()
	switch {
	case strings.Contains(last.Text(), "Write a plan"):
		return fakellm.Reply{Text: "1. Look it up.\n2. Say it."}
	case strings.Contains(last.Text(), "Check the last answer") && strings.Contains(last.Text(), "Answer: It is 41."):
		return fakellm.Reply{Text: "That was a guess; use the tool."}
	case strings.Contains(last.Text(), "Check the last answer"):
		return fakellm.Reply{Text: "PASS"}
	case strings.Contains(last.Text(), "This is draft 2 of 3"):
		return fakellm.Reply{Status: 400}
	case strings.Contains(last.Text(), "This is draft"):
		return fakellm.Reply{Text: "It may be 42."}
	case last.Role == "tool":
		return fakellm.Reply{Text: "It is 42. [done 1] [done 2]"}
	case strings.Contains(whole, "Your plan") || strings.Contains(whole, "A reflection on a try") || strings.Contains(whole, "Drafts that you made"):
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "look", Args: `{}`}}}
	}
	return fakellm.Reply{Text: "It is 41."}
}

// Each strategy goes through the whole program, on both platforms: people get
// one answer, and find in the steps how it came about.
func TestStrategies(t *testing.T) {
	t.Parallel()
	worlds := map[string]func(t *testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) },
	}
	for name, newWorld := range worlds {
		for _, tt := range []struct {
			llm, ask string
			steps    []string
		}{
			{"strategy: plan", "what is it?", []string{"☑ 1. Look it up.", "☑ 2. Say it."}},
			{"", "plan: what is it?", []string{"☑ 1. Look it up."}},
			{"strategy: reflexion", "what is it?", []string{"Reflection: That was a guess"}},
			{"strategy: branch", "what is it?", []string{"Draft 1 of 3: It may be 42.", "call for the draft failed", "Draft 3 of 3"}},
			{"", "think harder: what is it?", []string{"Draft 3 of 3"}},
		} {
			t.Run(name+"/"+tt.llm+" "+tt.ask, func(t *testing.T) {
				t.Parallel()
				n := newService(t, newWorld(t), thinker, setup{llm: tt.llm})
				n.start()
				at := n.w.mention("ada", tt.ask)
				n.find(at, "It is 42.")
				if c := n.count(at, "It is 41."); c != 0 {
					t.Errorf("%d drafts were posted", c)
				}
				if c := n.count(at, "[done"); c != 0 {
					t.Errorf("%d posts hold marks", c)
				}
				text := n.w.open("ada", n.find(at, "step", "look"))
				for _, want := range tt.steps {
					if !strings.Contains(text, want) {
						t.Errorf("the steps hold no %q:\n%s", want, text)
					}
				}
			})
		}
	}
}

// The requester gets another try by an emoji on the answer; nobody else does.
func TestAnotherTry(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]world{
		"slack": newSlackWorld(t, fakeslack.Options{}), "discord": newDiscordWorld(t, fakediscord.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newService(t, w, func(req fakellm.Request) fakellm.Reply {
				switch last := req.Last().Text(); {
				case strings.Contains(last, "Check the last answer"):
					return fakellm.Reply{Text: "PASS"}
				case strings.Contains(last, "asks for another try"):
					return fakellm.Reply{Text: "I counted from one."}
				case strings.Contains(req.Whole(), "I counted from one."):
					return fakellm.Reply{Text: "It is 42."}
				}
				return fakellm.Reply{Text: "It is 41."}
			}, setup{llm: "strategy: reflexion"})
			n.start()
			at := w.mention("ada", "what is it?")
			answer := n.find(at, "It is 41.")
			w.react("bob", answer.place, "🔄")
			w.react("ada", answer.place, "🔄")
			n.find(at, "It is 42.")
			if c := n.count(at, "It is 4"); c != 2 {
				t.Errorf("%d answers, want two", c)
			}
		})
	}
}
