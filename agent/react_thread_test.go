package agent_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// thread is a conversation on a log in memory, with a model and tools that say
// what they are told to.
type thread struct {
	t        testing.TB
	agent    *agent.Agent
	model    func(n int) llm.Response // the n-th completion, from 0
	observe  func(call memory.Call) string
	entries  []memory.Entry
	requests []llm.Request
	calls    []memory.Call // that ran
	answers  []string
	notices  []string
	asked    string // the newest approval's post
}

func (th *thread) add(bodies ...memory.Body) {
	for _, b := range bodies {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		th.entries = append(th.entries, memory.Entry{Seq: uint64(len(th.entries) + 1), At: at, Body: b})
	}
}

// asks puts a message and goes on until the thread waits.
func (th *thread) asks(text string) {
	th.t.Helper()
	th.says(text)
	th.run()
}

func (th *thread) says(text string) {
	th.add(memory.Message{Message: chat.Message{
		Ref: chat.MessageRef{Platform: "p", Channel: "c", ID: fmt.Sprint("m", len(th.entries))}, From: chat.User{ID: "ada"}, Text: text,
	}})
}

// reacts puts ada's reaction on the newest approval, and goes on.
func (th *thread) reacts(emoji string) {
	th.t.Helper()
	on := chat.MessageRef{Platform: "p", Channel: "c", ID: th.asked}
	th.add(memory.Reaction{Reaction: chat.Reaction{By: chat.User{ID: "ada"}, Emoji: emoji, On: on}})
	th.run()
}

func (th *thread) run() {
	th.t.Helper()
	for range 200 {
		act := th.agent.Next(agent.NewLog(th.entries, agent.Claim{Since: 1}))
		if _, done := act.(do.Wait); done {
			return
		}
		th.perform(act)
	}
	th.t.Fatal("the thread does not come to rest")
}

func (th *thread) perform(act do.Action) {
	switch act := act.(type) {
	case do.Record:
		th.add(act.Bodies...)
	case do.Call:
		r := th.model(len(th.requests))
		th.requests = append(th.requests, act.Request)
		th.add(append(act.Before, th.agent.Step(act, r, time.Second))...)
	case do.Run:
		for _, c := range act.Calls {
			th.runs(c)
		}
	case do.Effect:
		th.add(act.Started)
		th.runs(act.Call)
	case do.Open:
		for _, a := range act.Asked {
			th.add(a)
		}
	case do.Judge:
		known := approval.Facts{}
		for _, u := range act.Ask.People {
			known[u.ID] = approval.Known{User: u, Asked: true}
		}
		_, v, _, _ := th.agent.Vote(agent.NewLog(th.entries, agent.Claim{Since: 1}), known)
		th.add(v)
	case do.Mark:
		th.add(memory.Seen{Message: act.Message})
	case do.Post:
		ref := chat.MessageRef{Platform: "p", Channel: "c", ID: act.Post.Key}
		if act.Post.Approval != nil {
			th.asked = act.Post.Key
		}
		if text := act.Post.Text; text != nil && text.Notice {
			th.notices = append(th.notices, text.Markdown)
		} else if text != nil {
			th.answers = append(th.answers, text.Markdown)
		}
		th.add(append([]memory.Body{memory.Posted{Key: act.Post.Key, Ref: ref}}, act.Then...)...)
	case do.Edit:
		th.add(append([]memory.Body{memory.Posted{Key: act.Key}}, act.Then...)...)
	default:
		th.t.Fatalf("no action %T", act)
	}
}

func (th *thread) runs(c memory.Call) {
	th.calls = append(th.calls, c)
	th.add(memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Text: th.observe(c)})
}

// script is a model that says one text after the other.
func script(t testing.TB, texts ...string) func(int) llm.Response {
	return func(n int) llm.Response {
		if n >= len(texts) {
			t.Fatalf("the model was called %d times", n+1)
		}
		return llm.Response{Text: texts[n], Finish: "stop"}
	}
}

// textTool is a read-only tool with the given parameters.
func textTool(t testing.TB, tool llm.Tool) policy.Tool {
	t.Helper()
	schema, err := args.Compile(tool.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Tool{Tool: tool, Schema: schema, Risk: policy.Auto, ReadOnly: true, Advances: true}
}

// oneString is the schema of a tool that takes one text.
func oneString(name string) []byte {
	return fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"string"}},"required":[%[1]q]}`, name)
}

func golden(t *testing.T, name string, requests []llm.Request) {
	t.Helper()
	var b strings.Builder
	for i, r := range requests {
		fmt.Fprintf(&b, "=== model call %d, stop %q\n", i+1, r.Stop)
		for _, m := range r.Messages {
			fmt.Fprintf(&b, "--- %s", m.Role)
			for _, img := range m.Images {
				fmt.Fprintf(&b, " [%s]", img.Blob)
			}
			fmt.Fprintf(&b, "\n%s⏎\n", m.Text)
		}
	}
	file := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
