package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// toolSpec says of a tool what the checker goes by.
type toolSpec struct {
	reads, asks bool
	timeout     time.Duration
	approvers   []string
	quorum      int
	exclude     bool
	task        bool // its server holds the call
}

var toolNames = []string{"read", "act", "deploy", "launch", "grant", "read", "act"}

// approvalTime is how long people have to decide.
const approvalTime = 5 * time.Minute

var toolSpecs = map[string]toolSpec{
	"read":   {reads: true, timeout: 20 * time.Second},
	"act":    {timeout: 30 * time.Second},
	"deploy": {asks: true, timeout: 30 * time.Second, approvers: []string{"requester"}, quorum: 1},
	"launch": {asks: true, timeout: 45 * time.Second, approvers: []string{"anyone"}, quorum: 2, exclude: true},
	"build":  {task: true, timeout: 15 * time.Second},
	"grant":  {asks: true, timeout: 15 * time.Second, approvers: []string{"group:ops", "user:Uada"}, quorum: 1},
}

func newAgent(w *world) *agent.Agent {
	a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 8, Budget: w.budget, Count: func(s string) int { return len(s)/4 + 1 }}
	for _, name := range append(toolNames[:5:5], "build") {
		a.Tools = append(a.Tools, agentTool(name, toolSpecs[name], w.version))
	}
	a.Alerts = map[string]policy.Alert{pager: {Approvers: []string{"user:Uben"}}}
	a.Schedules = policy.Schedules{Thread: 3, Person: 100, Least: time.Minute, Late: time.Minute, Timeout: 2 * approvalTime}
	return a
}

var anyObject = func() *args.Schema {
	s, err := args.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		panic(err)
	}
	return s
}()

func agentTool(name string, spec toolSpec, version int) policy.Tool {
	t := policy.Tool{
		Tool:   llm.Tool{Name: name, Description: fmt.Sprintf("%s, edition %d", name, version), Parameters: []byte(`{"type":"object"}`)},
		Schema: anyObject, Risk: policy.Auto, ReadOnly: spec.reads, Timeout: spec.timeout,
	}
	if spec.asks {
		t.Risk = policy.Ask
		t.Rules = memory.Rules{
			Approvers: spec.approvers, Quorum: spec.quorum, ExcludeRequester: spec.exclude,
			Timeout: approvalTime, Approve: []string{"✅", "👍"}, Deny: []string{"❌", "👎"},
		}
	}
	return t
}

func newRunner(n *node) *run.Runner {
	again := 1 // every log is kept; in every other episode a short one is read again, and its last commit releases
	if n.w.seed%2 == 1 {
		again = 20
	}
	return &run.Runner{
		Store: n.store, Agent: newAgent(n.w), Model: &model{n}, Tools: &toolbox{n, n.version},
		Platforms: map[string]run.Platform{platform: &desk{n: n, edits: map[chat.MessageRef]int{}}}, Host: n.p, ReadAgain: again,
	}
}

// toolbox runs the tools of one process.
type toolbox struct {
	n       *node
	version int
}

// params are the arguments of every tool.
type params struct {
	ID  string `json:"id"`
	S   int    `json:"s"`             // how long it takes, in seconds
	How string `json:"how,omitempty"` // fail, panic, unspeakable
}

func itemOf(raw string) string {
	var p params
	_ = json.Unmarshal([]byte(raw), &p)
	return p.ID
}

var errTool = errors.New("the tool broke")

// Call implements run.Toolbox.
func (b *toolbox) Call(ctx context.Context, d chat.Desk, call llm.Call) (llm.Result, error) {
	var p params
	if err := json.Unmarshal([]byte(call.Args), &p); err != nil {
		return llm.Result{Text: "no such arguments", Failed: true}, nil
	}
	spec := toolSpecs[call.Name]
	if spec.task {
		return b.task(ctx, d, call, p)
	}
	w := b.n.w
	x := w.check.begins(b.n, d, call, b.version)
	took := min(seconds(float64(p.S)), spec.timeout)
	err := b.n.p.sleep(ctx, took)
	w.check.ends(x, err)
	switch {
	case err != nil:
		return llm.Result{Text: "ended " + p.ID, Failed: true}, nil
	case took == spec.timeout:
		return llm.Result{Text: "took too long " + p.ID, Failed: true}, nil
	case p.How == "panic":
		panic("the tool is broken")
	case p.How == "fail":
		return llm.Result{}, errTool
	}
	return llm.Result{Text: "did " + p.ID}, nil
}

// model is the language model, as a process sees it. What it does is written in
// the questions: see [plan].
type model struct{ n *node }

// Complete implements llm.Model.
func (m *model) Complete(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	w := m.n.w
	w.logf("model %d", len(req.Messages))
	w.check.prompt(req)
	step := next(req)
	took := w.between(5*time.Millisecond, 400*time.Millisecond) + step.slow
	if err := m.n.p.sleep(ctx, took); err != nil {
		return llm.Response{}, &llm.Error{Fault: llm.Unreachable, Message: err.Error()}
	}
	switch step.how {
	case "fail":
		return llm.Response{}, &llm.Error{Fault: llm.Overloaded}
	case "panic":
		panic("the model is broken")
	}
	r := llm.Response{Text: step.text, Calls: step.calls, Usage: llm.Usage{Prompt: 10, Completion: 5}, Finish: "stop"}
	return r, nil
}

// thought is what the model makes of a prompt.
type thought struct {
	calls []llm.Call
	text  string
	how   string
	slow  time.Duration
}

// next reads the prompt, and goes one step further in the plan of the first
// question that it is not through with. Plans are what people write:
//
//	q7: read 1; act 3 + deploy 0; say
func next(req llm.Request) thought {
	var plans []plan
	called := map[string]bool{}
	for _, m := range req.Messages {
		switch {
		case m.Role == llm.Assistant && len(m.Calls) == 0:
			plans = nil // what came before is answered
		case m.Role == llm.Assistant:
			for _, c := range m.Calls {
				called[itemOf(c.Args)] = true
			}
		case m.Role == llm.User:
			if p, ok := parsePlan(m.Text); ok {
				plans = append(plans, p)
			}
		}
	}
	out := thought{}
	var names []string
	for _, p := range plans {
		names = append(names, p.q)
		for _, calls := range p.steps {
			for _, c := range calls {
				if !called[itemOf(c.Args)] {
					out.calls = append(out.calls, c)
				}
			}
			if len(out.calls) > 0 && len(req.Tools) > 0 && !req.NoCalls {
				out.text = "I go on with " + p.q
				return out
			}
			out.calls = nil
		}
		if p.last != "say" {
			out.how = p.last
		}
		out.slow = max(out.slow, p.slow)
	}
	out.text = "done " + strings.Join(names, " ")
	if out.how == unspeakable {
		out.text += " " + unspeakable
	}
	return out
}

// plan is what a question asks for.
type plan struct {
	q     string
	steps [][]llm.Call
	last  string
	slow  time.Duration
}

func parsePlan(text string) (p plan, ok bool) {
	if i := strings.Index(text, ": q"); i >= 0 && !strings.HasPrefix(text, "q") { // behind the name of who wrote it
		text = text[i+2:]
	}
	p.q, text, ok = strings.Cut(text, ": ")
	if !ok || !strings.HasPrefix(p.q, "q") {
		return p, false
	}
	parts := strings.Split(text, "; ")
	p.last, _, _ = strings.Cut(parts[len(parts)-1], " ")
	if p.last == "slow" {
		s, _ := strconv.Atoi(strings.TrimPrefix(parts[len(parts)-1], "slow "))
		p.slow, p.last = seconds(float64(s)), "say"
	}
	item := 0
	for _, part := range parts[:len(parts)-1] {
		var calls []llm.Call
		for _, c := range strings.Split(part, " + ") {
			item++
			calls = append(calls, parseCall(c, fmt.Sprintf("%s.%d", p.q, item)))
		}
		p.steps = append(p.steps, calls)
	}
	return p, true
}

func parseCall(text, id string) llm.Call {
	name, rest, _ := strings.Cut(text, " ")
	a := params{ID: id}
	switch {
	case strings.HasSuffix(rest, "!"):
		a.How = "fail"
	case strings.HasSuffix(rest, "?"):
		a.How = "panic"
	case strings.HasSuffix(rest, "#"):
		a.How = unspeakable
	}
	a.S, _ = strconv.Atoi(strings.TrimRight(rest, "!?#"))
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return llm.Call{ID: "w" + id, Name: name, Args: string(raw)}
}
