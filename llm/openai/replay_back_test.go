package openai

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/speak"
	"nod/llm"
)

// reasoningFields are the fields in which providers send reasoning.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_details"}

// TestReplayBack takes every recorded answer with calls, sends it back as the
// turn goes on, and compares that with what the recorded next request sent: the
// same content, and the same reasoning in the same fields.
func TestReplayBack(t *testing.T) {
	all := recordings(t)
	count := map[string]int{}
	for i, rec := range all {
		s := &script{serve: []served{{status: rec.Status, body: rec.Body}, {body: goodWhole}}}
		m, _ := s.model(func(o *Options) { o.Stream = rec.SSE })
		got, err := m.Complete(t.Context(), hi, nil)
		if err != nil || len(got.Calls) == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, filepath.Base(rec.Src)), func(t *testing.T) {
			back := goOn(t, m, s, got)
			if got.Reasoning != "" && strings.Contains(text(back, "content"), got.Reasoning) {
				t.Errorf("the reasoning is content: %q", text(back, "content"))
			}
			count["calls"]++
			for _, field := range reasoningFields {
				if back[field] != nil {
					count["back in "+field]++
				}
			}
			recorded := nextOf(all, i, got.Calls)
			if recorded == nil {
				return
			}
			count["with a next request"]++
			if a, b := strings.TrimSpace(text(recorded, "content")), strings.TrimSpace(text(back, "content")); a != b {
				t.Errorf("content %q, recorded %q", b, a)
			}
			for _, field := range reasoningFields {
				if recorded[field] == nil {
					continue
				}
				count["recorded in "+field]++
				if diff := cmp.Diff(filled(recorded[field]), back[field]); diff != "" {
					t.Errorf("%s (-recorded +sent):\n%s", field, diff)
				}
			}
			checkIDs(t, back)
		})
	}
	want := map[string]int{
		"calls": 116, "with a next request": 81,
		"recorded in reasoning": 2, "recorded in reasoning_content": 9, "recorded in reasoning_details": 10,
		"back in reasoning": 5, "back in reasoning_content": 11, "back in reasoning_details": 12,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("what went back (-want +got):\n%s", diff)
	}
}

// goOn sends an answer back with results of its calls, as the protocol does, and
// gives the message in which it went.
func goOn(t *testing.T, m *Model, s *script, got llm.Response) dict {
	t.Helper()
	said := speak.NativeTools{}.Read(nil, got)
	do := &speak.Doing{Thought: said.Thought, Reasoned: said.Reasoned, Echo: got.Echo}
	for i, c := range said.Calls {
		do.Calls = append(do.Calls, speak.Call{ID: fmt.Sprintf("1-1-%d", i+1), Tool: c.Name, Args: c.Args, Object: true})
		do.Results = append(do.Results, "done")
	}
	req := speak.NativeTools{}.Request(speak.Prompt{Tools: []llm.Tool{{Name: "f"}}, Turns: [][]speak.Item{{{Said: "hi"}, {Step: do}}}})
	before := len(s.asked)
	if _, err := m.Complete(t.Context(), req, nil); err != nil || len(s.asked) != before+1 {
		t.Fatalf("%d requests, %v", len(s.asked)-before, err)
	}
	var out dict
	for _, msg := range list(s.asked[before].body, "messages") {
		if len(list(msg, "tool_calls")) > 0 {
			out = msg
		}
	}
	if out == nil {
		t.Fatal("no message with the calls")
	}
	return out
}

// nextOf is the message in which a later request of the same recording sent the
// calls back.
func nextOf(all []recording, i int, calls []llm.Call) dict {
	for _, rec := range all[i+1:] {
		if rec.Src != all[i].Src {
			return nil
		}
		var req dict
		if json.Unmarshal(rec.Req, &req) != nil {
			continue
		}
		for _, msg := range list(req, "messages") {
			for _, c := range list(msg, "tool_calls") {
				if text(c, "id") == calls[0].ID {
					return msg
				}
			}
		}
	}
	return nil
}

// filled leaves out entries with nothing in them, which one client made up.
func filled(field any) any {
	entries, ok := field.([]any)
	if !ok {
		return field
	}
	return slices.DeleteFunc(entries, func(one any) bool {
		d, _ := one.(dict)
		return text(d, "text")+text(d, "data")+text(d, "summary")+text(d, "signature") == ""
	})
}

// checkIDs says that what is bound to the id of a call finds a call with it.
func checkIDs(t *testing.T, back dict) {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range list(back, "tool_calls") {
		ids[text(c, "id")] = true
	}
	for _, d := range list(back, "reasoning_details") {
		if id := text(d, "id"); strings.HasPrefix(id, "tool_") && !ids[id] {
			t.Errorf("a signature of call %s, which is not there: %v", id, ids)
		}
	}
}
