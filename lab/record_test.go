package lab_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/agent/view"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
	"nod/memory/sqlite"
)

// oracle is a model whose words are a function of its whole prompt, so that a changed
// prompt gives another answer. A message `use a b` makes it call the tools a and b in
// turn. It follows only one instruction, "Be thorough": then it looks something up
// first, if the message allows that.
type oracle struct{ asked atomic.Int64 }

// Complete implements llm.Model.
func (o *oracle) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	o.asked.Add(1)
	var b strings.Builder
	order, done, instructions := "", 0, ""
	for _, m := range req.Messages {
		switch {
		case m.Role == llm.System:
			instructions = m.Text
			continue
		case m.Role == llm.User && strings.Contains(m.Text, ": use "):
			order, done = m.Text, 0
		case m.Role == llm.ToolRole:
			done++
		}
		fmt.Fprintln(&b, m.Role, m.Text, m.Calls, m.CallID)
	}
	sum := sha256.Sum256([]byte(b.String()))
	h := hex.EncodeToString(sum[:4])
	r := llm.Response{Finish: "stop", Usage: llm.Usage{Prompt: b.Len() / 4, Completion: 7}}
	_, list, _ := strings.Cut(order, ": use ")
	list, _, _ = strings.Cut(list, "|")
	tools := strings.Fields(list)
	if strings.Contains(instructions, "Be thorough") && strings.Contains(order, "(vary)") {
		tools = append([]string{"look"}, tools...)
	}
	tools = without(without(tools, "(vary)"), "(same)")
	last := req.Messages[len(req.Messages)-1].Text
	switch {
	case strings.Contains(last, "Write a plan"):
		r.Text = "1. Do it. " + h
	case done < len(tools) && len(req.Tools) > 0:
		if strings.Contains(order, "(same)") {
			h = "same"
		}
		r.Calls = []llm.Call{{ID: "x", Name: tools[done], Args: fmt.Sprintf(`{"q": "%s"}`, h)}}
	default:
		r.Text = "done " + h
	}
	return r, nil
}

func without(list []string, word string) []string {
	var out []string
	for _, w := range list {
		if w != word {
			out = append(out, w)
		}
	}
	return out
}

// probe is a toolbox that counts.
type probe struct{ ran atomic.Int64 }

// Call implements run.Toolbox.
func (p *probe) Call(_ context.Context, _ chat.Desk, c llm.Call) (llm.Result, error) {
	return llm.Result{Text: fmt.Sprintf("result %d of %s", p.ran.Add(1), c.Name)}, nil
}

// desk is a platform that remembers where approvals and answers stand.
type desk struct {
	script.Board
	mu      sync.Mutex
	asks    map[chat.ThreadID]chat.MessageRef
	answers map[chat.ThreadID]chat.MessageRef
}

// Post implements run.Drawer.
func (d *desk) Post(_ context.Context, thread chat.ThreadID, p chat.Post, _ bool) (chat.MessageRef, error) {
	ref := chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: thread.Root + p.Key}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case p.Approval != nil:
		d.asks[thread] = ref
	case p.Text != nil && !p.Text.Notice:
		d.answers[thread] = ref
	}
	return ref, nil
}

// Edit implements run.Drawer.
func (*desk) Edit(context.Context, chat.ThreadID, chat.MessageRef, chat.Post) error { return nil }

// newAgent has a tool of each kind: one that looks, one that looks outside, one that
// asks, and one that changes something and asks only after what came from outside.
func newAgent(t testing.TB) *agent.Agent {
	t.Helper()
	schema, err := args.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	a := &agent.Agent{
		Instructions: "Be brief.", Protocol: speak.NativeTools{}, MaxSteps: 12, Budget: 2000, Taint: true, Retries: 1,
		Count:  func(s string) int { return len(s)/4 + 1 },
		Prices: &view.Prices{Input: 1, Cached: 1, Output: 10},
	}
	for _, tool := range []policy.Tool{
		{Risk: policy.Auto, ReadOnly: true}, {Risk: policy.Auto, ReadOnly: true, Outside: true}, {Risk: policy.Ask}, {Risk: policy.Auto},
	} {
		tool.Name = []string{"look", "browse", "deploy", "note"}[len(a.Tools)]
		tool.Description, tool.Parameters = tool.Name, []byte(`{"type":"object"}`)
		tool.Schema, tool.Rules = schema, script.Rules()
		a.Tools = append(a.Tools, tool)
	}
	return a
}

// recording is nod, running, with people.
type recording struct {
	t      *testing.T
	inbox  run.Inbox
	desk   *desk
	events int
}

func thread(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "c", Root: fmt.Sprint(i)}
}

func (r *recording) settle() {
	time.Sleep(time.Second) // in the bubble's time
	synctest.Wait()
}

func (r *recording) say(i int, text string) {
	r.events++
	id := fmt.Sprintf("m%d", r.events)
	m := chat.Message{
		Ref:  chat.MessageRef{Platform: "board", Channel: "c", ID: id},
		From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: time.Now(),
	}
	if _, err := r.inbox.Message(r.t.Context(), thread(i), m, id); err != nil {
		r.t.Fatal(err)
	}
	r.settle()
}

func (r *recording) react(i int, where map[chat.ThreadID]chat.MessageRef, emoji string) {
	r.events++
	r.desk.mu.Lock()
	on := where[thread(i)]
	r.desk.mu.Unlock()
	by := chat.User{ID: "ada", Name: "ada"}
	if _, err := r.inbox.Reaction(r.t.Context(), chat.Reaction{On: on, By: by, Emoji: emoji}, fmt.Sprintf("r%d", r.events)); err != nil {
		r.t.Fatal(err)
	}
	r.settle()
}

// play has people do in thread i what the threads whose number ends like this do.
func (r *recording) play(i int) {
	switch i % 10 {
	case 0:
		r.say(i, "hello")
	case 1:
		r.say(i, "use look look (vary)")
	case 2:
		r.say(i, "use deploy")
		if i > 40 {
			r.say(i, `edit 1 {"q":"by hand"}`)
		}
		r.react(i, r.desk.asks, "✅")
	case 3:
		r.say(i, "use look deploy")
		r.react(i, r.desk.asks, "❌")
		r.react(i, r.desk.answers, "👎")
	case 4:
		r.say(i, "use deploy")
		time.Sleep(31 * time.Minute)
		r.settle()
	case 5:
		r.say(i, "use browse note")
		r.react(i, r.desk.asks, "👍")
	case 6:
		for n := range 6 {
			r.say(i, fmt.Sprintf("use note | %d: %s", n, strings.Repeat("and a long story ", 120)))
		}
	case 7:
		r.say(i, "use deploy note")
		r.say(i, "and be quick")
		r.react(i, r.desk.asks, "✅")
	case 8:
		r.say(i, "plan: use look")
		r.say(i, "plan: use look note")
	case 9:
		r.say(i, "use look deploy")
		r.say(i, "stop")
		r.say(i, "use nothing")
	}
}

// record plays n threads and gives the file that they are in.
func record(t *testing.T, n int, a *agent.Agent, model llm.Model, tools run.Toolbox) string {
	t.Helper()
	return recordAs(t, n, (*recording).play, a, model, tools)
}

func recordAs(t *testing.T, n int, play func(*recording, int), a *agent.Agent, model llm.Model, tools run.Toolbox) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nod.db")
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		emoji := map[string]bool{}
		for _, e := range append(script.Rules().Approve, script.Rules().Deny...) {
			emoji[e] = true
		}
		d := &desk{asks: map[chat.ThreadID]chat.MessageRef{}, answers: map[chat.ThreadID]chat.MessageRef{}}
		ctx, cancel := context.WithCancel(t.Context())
		runner := &run.Runner{Store: store, Agent: a, Model: model, Tools: tools, Platforms: map[string]run.Platform{"board": d}}
		var done sync.WaitGroup
		done.Go(func() {
			if err := runner.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		r := &recording{t: t, inbox: run.Inbox{Store: store, Emoji: emoji, Agent: a}, desk: d}
		for i := range n {
			play(r, i)
		}
		cancel()
		done.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return path
}

// entries reads the threads of a file.
func entries(t testing.TB, path string, n int) map[chat.ThreadID][]memory.Entry {
	t.Helper()
	v, err := sqlite.View(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	out := map[chat.ThreadID][]memory.Entry{}
	list, err := v.Threads(t.Context(), memory.ListQuery{Platforms: []string{"board"}, Most: n + 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if out[m.Thread], err = v.Read(t.Context(), m.Thread); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) != n {
		t.Fatalf("%d threads were found, want %d", len(out), n)
	}
	return out
}
