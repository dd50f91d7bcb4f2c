package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"nod/lab"
	"nod/llm"
)

// parrot is a model that makes the calls in a message, one a line, and then repeats the
// results.
type parrot struct{}

// Complete implements llm.Model.
func (parrot) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	r := llm.Response{Finish: "stop", Usage: llm.Usage{Prompt: 1000, Completion: 100}}
	var gave []string
	for _, m := range req.Messages {
		if m.Role == llm.ToolRole {
			gave = append(gave, m.Text)
		}
	}
	_, text, _ := strings.Cut(req.Messages[1].Text, ": ")
	for line := range strings.Lines(text) {
		name, args, ok := strings.Cut(strings.TrimSpace(line), " {")
		if ok && len(gave) == 0 {
			r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint(len(r.Calls)), Name: name, Args: "{" + args})
		}
	}
	if len(r.Calls) == 0 {
		r.Text = "They gave: " + strings.Join(gave, ", ")
	}
	return r, nil
}

// A case says in one line why it does not hold.
func TestCases(t *testing.T) {
	t.Parallel()
	const twice = `"messages": [{"user": "ada", "text": "deploy {\"env\": \"a\"}\ndeploy {\"env\":\"b\"}"}]`
	l := &lab.Lab{Agent: newAgent(t), Model: parrot{}, Mode: lab.Turns}
	for _, tt := range []struct{ name, rest, why string }{
		{"calls in any order", `"expect": {"calls": [{"name": "deploy", "arguments": {"env": "b"}}, {"name": "deploy", "arguments": { "env" : "a" }}]}`, ""},
		{"strictly in this order", `"expect": {"order": "strict", "calls": [{"name": "deploy", "arguments": {"env": "a"}}, {"name": "deploy"}]}`, ""},
		{"not in this order", `"expect": {"order": "strict", "calls": [{"name": "deploy", "arguments": {"env": "b"}}, {"name": "deploy", "arguments": {"env": "a"}}]}`, `deploy {"env":"a"} was not called in this order; called: deploy {"env":"a"}; deploy {"env":"b"}`},
		{"called too seldom", `"expect": {"calls": [{"name": "deploy"}, {"name": "deploy"}, {"name": "deploy"}]}`, "deploy was not called; called:"},
		{"other arguments", `"expect": {"calls": [{"name": "deploy", "arguments": {"env": "c"}}]}`, `deploy {"env":"c"} was not called`},
		{"results", `"results": [{"name": "deploy", "arguments": {"env": "b"}, "out": "two"}, {"name": "deploy", "out": "one"}], "expect": {"answer": "^They gave: one, two$"}`, ""},
		{"one result for two", `"results": [{"name": "deploy", "out": "one"}], "expect": {"answer": "one, not recorded"}`, ""},
		{"another answer", `"expect": {"answer": "(?i)sorry"}`, `the answer does not match "(?i)sorry": They gave: not recorded`},
		{"forbidden", `"expect": {}, "forbid": [{"name": "deploy", "arguments": {"env": "b"}}]`, `deploy {"env":"b"} was called, which is forbidden`},
		{"not forbidden", `"expect": {}, "forbid": [{"name": "deploy", "arguments": {"env": "c"}}, {"name": "note"}]`, ""},
		{"cheap enough", `"expect": {}, "max_cost": 0.01`, ""},
		{"too dear", `"expect": {}, "max_cost": 0.001`, "it costs 0.004, and may cost 0.001"},
		{"nothing expected", `"expect": {}`, "it expects nothing yet"},
	} {
		cases, err := lab.ReadCases(strings.NewReader(fmt.Sprintf(`[{"name": %q, %s, %s}]`, tt.name, twice, tt.rest)))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		why, err := l.Check(t.Context(), cases[0])
		if err != nil || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, why, err, tt.why)
		}
	}
	free := *l.Agent
	free.Prices = nil
	cases, err := lab.ReadCases(strings.NewReader(`{"name": "x", "messages": [{"user": "ada", "text": "hi"}], "expect": {}, "max_cost": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	if why, _ := (&lab.Lab{Agent: &free, Model: parrot{}}).Check(t.Context(), cases[0]); !strings.Contains(why, "llm.prices") {
		t.Errorf("a cost without prices: %q", why)
	}
}

// The error of a bad case file names the mistake and its place.
func TestReadCases(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"messages": [{"user": "a", "text": "b"}]}`: "case 1: it has no name",
		`{"name": "x"}`: `case 1: "x" has no messages`,
		`{"name": "x", "messages": [{"user": "a", "text": "b"}], "expected": {}}`:                                         "case 1",
		`[{"name": "x", "messages": [{"user": "a", "text": "b"}], "expect": {"answer": "("}}]`:                            `case 1: "x": expect.answer`,
		`{"name": "x", "messages": [{"user": "a", "text": "b"}], "expect": {"order": "up"}}`:                              `expect.order is "up": write any or strict`,
		`{"name": "x", "messages": [{"user": "a", "text": "b"}]} {"name": "x", "messages": [{"user": "a", "text": "b"}]}`: `case 2: the name "x" comes twice`,
		`{"name": `: "case 1",
		"\n":        "holds no cases", "[]": "holds no cases",
	} {
		if _, err := lab.ReadCases(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// The turns that got 👎 become cases, with what was called, and are read again.
func TestDisliked(t *testing.T) {
	t.Parallel()
	var got []lab.Case
	for id, log := range entries(t, record(t, 10, newAgent(t), &oracle{}, &probe{}), 10) {
		got = append(got, lab.Disliked(id, log, time.Time{})...)
		if late := lab.Disliked(id, log, time.Now().Add(time.Hour)); len(late) > 0 {
			t.Errorf("later than asked for: %+v", late)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%d cases, want that of the thread that was denied: %+v", len(got), got)
	}
	c := got[0]
	if c.Name != thread(3).String()+" turn 1 (👎 ada)" || len(c.Messages) != 1 || c.Messages[0] != (lab.CaseSaid{User: "ada", Text: "use look deploy"}) {
		t.Errorf("case %+v", c)
	}
	if len(c.Results) != 1 || c.Results[0].Name != "look" || !strings.HasPrefix(c.Results[0].Out, "result ") {
		t.Errorf("results %+v, want that of the look alone: a denial is none", c.Results)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := lab.ReadCases(strings.NewReader(string(raw))); err != nil || len(back) != 1 {
		t.Errorf("%s can't be read: %v", raw, err)
	}
}
