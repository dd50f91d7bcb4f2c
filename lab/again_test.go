package lab_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/agent/facts"
	"nod/agent/policy"
	"nod/agent/schedules"
	"nod/chat"
	"nod/internal/script"
	"nod/lab"
	"nod/llm"
	"nod/memory"
)

// A turn that continues from a call that a person ran again is replayed unchanged: with
// that call, its decision, and its prompt. A case made from it holds the original
// question.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	a, model, tools := newAgent(t), &oracle{}, &probe{}
	threads := entries(t, recordAs(t, 1, func(r *recording, i int) {
		r.say(i, "use look deploy look")
		r.react(i, r.desk.asks, "✅")
		r.say(i, `run 2 {"q":"by hand"}`)
		r.react(i, r.desk.asks, "✅")
		r.react(i, r.desk.answers, "👎")
	}, a, model, tools), 1)
	log := threads[thread(0)]
	if !slices.ContainsFunc(log, func(e memory.Entry) bool { b, ok := e.Body.(memory.Opened); return ok && b.From != "" }) {
		t.Fatal("no turn goes on from a call")
	}
	for _, mode := range []lab.Mode{lab.Calls, lab.Turns, lab.Rules} {
		r := replay(t, &lab.Lab{Agent: a, Model: model, Mode: mode}, map[chat.ThreadID][]memory.Entry{thread(0): log})
		if r.Turns != 2 || r.Same != 2 || r.Old != r.New || r.Old.Asked != 2 {
			var text bytes.Buffer
			_ = r.Text(&text, mode)
			t.Errorf("%s: %d of %d turns are the same; old %+v, new %+v:\n%s", mode, r.Same, r.Turns, r.Old, r.New, text.String())
		}
	}
	turns, ok := lab.Read(thread(0), log, log[0].At)
	if !ok || len(turns) != 2 {
		t.Fatalf("%d turns are read", len(turns))
	}
	if _, calls := turns[1].Usage(); calls != 2 {
		t.Errorf("the model was called %d times, want 2", calls)
	}
	cases := lab.Disliked(thread(0), log, log[0].At)
	if len(cases) != 1 || len(cases[0].Messages) != 1 || cases[0].Messages[0].Text != "use look deploy look" {
		t.Fatalf("cases %+v", cases)
	}
	var results []string
	for _, r := range cases[0].Results {
		results = append(results, r.Name)
	}
	if !slices.Equal(results, []string{"look", "deploy", "look"}) {
		t.Errorf("the case holds the results of %q", results)
	}
}

// planner calls a tool that only changes the log, and then is done.
type planner struct{ llm.Model }

// Complete implements llm.Model.
func (planner) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case last.Role == llm.ToolRole:
		return llm.Response{Text: "done", Finish: "stop"}, nil
	case strings.Contains(last.Text, "later"):
		return llm.Response{Calls: []llm.Call{{ID: "1", Name: "schedule", Args: `{"when":"in 2h","text":"look"}`}}, Finish: "tool_calls"}, nil
	}
	return llm.Response{Calls: []llm.Call{{ID: "1", Name: "remember", Args: `{"text":"no deploys on Friday"}`}}, Finish: "tool_calls"}, nil
}

// Turns that made a schedule and wrote down a fact are replayed unchanged.
func TestMadeInTheLog(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Schedules, a.Facts = policy.Schedules{Thread: 3, Person: 3, Least: time.Minute, Late: time.Hour}, policy.Facts{Most: 3, Size: 40}
	a.Tools = append(a.Tools, schedules.Tool(script.Rules()), facts.Tool(script.Rules(), a.Facts))
	threads := entries(t, recordAs(t, 1, func(r *recording, i int) {
		for _, text := range []string{"keep that", "ask later"} {
			r.say(i, text)
			r.react(i, r.desk.asks, "✅")
		}
	}, a, planner{}, &probe{}), 1)
	for _, mode := range []lab.Mode{lab.Turns, lab.Rules} {
		r := replay(t, &lab.Lab{Agent: a, Model: planner{}, Mode: mode}, threads)
		if r.Turns != 2 || r.Same != 2 {
			var text bytes.Buffer
			_ = r.Text(&text, mode)
			t.Errorf("%s: %d of %d turns are the same:\n%s", mode, r.Same, r.Turns, text.String())
		}
	}
}
