package trace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/chat"
	"nod/llm"
	"nod/memory"
	"nod/trace"
)

var (
	thread = chat.ThreadID{Platform: "slack", Channel: "C1", Root: "1.2"}
	begun  = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
)

// at numbers bodies, one each second.
func at(bodies ...memory.Body) []memory.Entry {
	var out []memory.Entry
	for i, b := range bodies {
		out = append(out, memory.Entry{Seq: uint64(i + 1), At: begun.Add(time.Duration(i) * time.Second), Body: b})
	}
	return out
}

func said(text string) memory.Message {
	return memory.Message{Message: chat.Message{Text: text, From: chat.User{ID: "U1"}}}
}

// conversation has two turns: one with a call that is approved and one that is
// denied, and one that is stopped.
func conversation() []memory.Entry {
	return at(
		said("deploy, the password is hunter2"),
		memory.Opened{Turn: 1, Name: "1-a"},
		memory.Step{
			Turn: 1, N: 1, Took: 500 * time.Millisecond, Model: "gpt", Served: "gpt-7", Usage: llm.Usage{Prompt: 100, Cached: 40, Completion: 10},
			Calls: []memory.Call{{ID: "c1", Tool: "deploy", Args: `{"key":"hunter2"}`}, {ID: "c2", Tool: "words of a\nconversation"}},
		},
		memory.Asked{Call: "c1", Tool: "deploy", Number: 3, Rules: memory.Rules{Quorum: 1}},
		memory.Asked{Call: "c2", Tool: "other", Number: 4},
		memory.Vote{Call: "c1", Counts: true}, memory.Vote{Call: "c1"},
		memory.Decided{Call: "c1", Outcome: chat.Approved},
		memory.Started{Call: "c1", Tool: "deploy"},
		memory.Decided{Call: "c2", Outcome: chat.Denied},
		memory.Result{Call: "c2", Tool: "words of a\nconversation", State: chat.CallDenied, Text: "denied"},
		said("and quickly"),
		memory.Result{Call: "c1", Tool: "deploy", State: chat.CallUnknown},
		memory.Result{Call: "c1", Tool: "deploy", State: chat.CallDone, Text: "late"}, // a correction
		memory.Step{Turn: 1, N: 2, Took: time.Second, Model: "gpt", Answer: "done, hunter2", Usage: llm.Usage{Prompt: 120, Completion: 5}},
		memory.Ended{Turn: 1},
		memory.Opened{Turn: 12, Name: "12-b"},
		memory.Stopped{Turn: 12},
		memory.Ended{Turn: 12},
		said("and now?"),
	)
}

// line is a span in a line.
func line(s trace.Span) string {
	what := ""
	for _, a := range s.Attrs {
		if strings.HasPrefix(a.Key, "nod.") || strings.Contains(a.Key, "usage") || strings.HasSuffix(a.Key, ".model") || strings.HasSuffix(a.Key, "_reasons") || strings.HasPrefix(a.Key, "enduser.") {
			what += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
	}
	if s.Error != "" {
		what += " ERROR " + s.Error
	}
	return fmt.Sprintf("%s %.1f-%.1f%s", s.Name, s.Start.Sub(begun).Seconds(), s.End.Sub(begun).Seconds(), what)
}

func TestSpans(t *testing.T) {
	var got []string
	spans := trace.Spans(thread, conversation(), trace.Options{})
	for _, s := range spans {
		got = append(got, line(s))
	}
	want := []string{
		"chat gpt 1.5-2.0 gen_ai.request.model=gpt gen_ai.response.model=gpt-7 gen_ai.usage.input_tokens=100 gen_ai.usage.cache_read.input_tokens=40 gen_ai.usage.output_tokens=10 nod.step=1 gen_ai.response.finish_reasons=[tool_calls]",
		"await_approval deploy 3.0-7.0 nod.approval.number=3 nod.outcome=approved nod.approval.quorum=1 nod.approval.votes=1",
		"await_approval unknown 4.0-9.0 nod.approval.number=4 nod.outcome=denied nod.approval.quorum=0 nod.approval.votes=0",
		"execute_tool deploy 8.0-12.0 nod.outcome=outcome unknown ERROR outcome unknown",
		"chat gpt 13.0-14.0 gen_ai.request.model=gpt gen_ai.usage.input_tokens=120 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=5 nod.step=2 gen_ai.response.finish_reasons=[stop]",
		"invoke_agent nod 0.0-15.0 gen_ai.usage.input_tokens=220 gen_ai.usage.cache_read.input_tokens=40 gen_ai.usage.output_tokens=15 nod.turn=1 nod.steps=2 nod.outcome=answered",
		"invoke_agent nod 11.0-18.0 gen_ai.usage.input_tokens=0 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=0 nod.turn=12 nod.steps=0 nod.outcome=stopped",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	root, other := spans[5], spans[6]
	for _, s := range spans[:5] {
		if s.Trace != root.Trace || s.Parent != root.ID || s.ID == root.ID {
			t.Errorf("%s is not below the turn", s.Name)
		}
	}
	if root.Trace == other.Trace || root.Parent != [8]byte{} {
		t.Error("a turn is not a trace")
	}
}

// A turn that a limit of the file ends is no error.
func TestLimitedTurn(t *testing.T) {
	for want, how := range map[string]memory.Failed{
		"nod.outcome=limited": {Turn: 1, Limited: true}, "nod.outcome=failed ERROR failed": {Turn: 1}, "nod.outcome=failed ERROR overloaded": {Turn: 1, Cause: "overloaded"},
	} {
		spans := trace.Spans(thread, at(memory.Opened{Turn: 1, Name: "1-a"}, how, memory.Ended{Turn: 1}), trace.Options{})
		if len(spans) != 1 || !strings.HasSuffix(line(spans[0]), want) {
			t.Errorf("%v, want %s", spans, want)
		}
	}
}

// A post waits from the entry that asks for it until it stands. Edits, files, and posts in
// other places have no span.
func TestPosts(t *testing.T) {
	ref := chat.MessageRef{Platform: "slack", Channel: "C1", ID: "9"}
	log := at(
		said("deploy"), memory.Opened{Turn: 1, Name: "1-a", Requester: chat.User{ID: "U1"}},
		memory.Step{Turn: 1, N: 1, Calls: []memory.Call{{ID: "c1", Tool: "deploy"}}},
		memory.Posted{Key: "steps/1-a", Ref: ref},
		memory.Asked{Call: "c1", Tool: "deploy"},
		memory.Posted{Key: "ask/c1~5", Ref: ref}, memory.Posted{Key: "ask/c1~5", Ref: ref, At: thread}, memory.Posted{Key: "file/1~6", Ref: ref},
		memory.Result{Call: "c1", Tool: "deploy", State: chat.CallDone},
		memory.Step{Turn: 1, N: 2, Answer: "done", Failed: true, Cause: "timeout"},
		memory.Posted{Key: "steps/1-a/done"}, memory.Posted{Key: "answer/1-a~7", Ref: ref}, memory.Ended{Turn: 1},
	)
	var got []string
	for _, s := range trace.Spans(thread, log, trace.Options{Server: "llm.test", Port: 443, Who: func(id string) string { return "pseudonym of " + id }}) {
		if l := line(s); !strings.HasPrefix(l, "execute_tool") {
			got = append(got, l)
		}
		if s.Kind == trace.Client && strings.HasPrefix(s.Name, "chat") && !strings.Contains(fmt.Sprint(s.Attrs), "{server.address llm.test} {server.port 443}") {
			t.Errorf("%v does not say where the model is", s)
		}
	}
	want := []string{
		"chat 2.0-2.0 gen_ai.usage.input_tokens=0 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=0 nod.step=1 gen_ai.response.finish_reasons=[tool_calls]",
		"post steps 2.0-3.0 nod.post=steps",
		"post approval 4.0-5.0 nod.post=approval",
		"chat 9.0-9.0 gen_ai.usage.input_tokens=0 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=0 nod.step=2 ERROR timeout",
		"post answer 9.0-11.0 nod.post=answer",
		"invoke_agent nod 0.0-12.0 enduser.pseudo.id=pseudonym of slack:U1 gen_ai.usage.input_tokens=0 gen_ai.usage.cache_read.input_tokens=0 gen_ai.usage.output_tokens=0 nod.turn=1 nod.steps=2 nod.outcome=answered",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// A span is final when it ends. Another process with a longer log reads the same span
// at any time.
func TestSpansNeverChange(t *testing.T) {
	log := conversation()
	whole := trace.Spans(thread, log, trace.Options{Content: true})
	for n := range log {
		part := trace.Spans(thread, log[:n], trace.Options{Content: true})
		if diff := cmp.Diff(whole[:len(part)], part, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after %d entries (-whole +part):\n%s", n, diff)
		}
		ended := func(s trace.Span) bool { return s.Seq > uint64(n) }
		if want := slices.IndexFunc(whole, ended); want >= 0 && len(part) != want {
			t.Errorf("after %d entries there are %d spans, not %d", n, len(part), want)
		}
	}
}

// The part of the log that the last turn is in gives that turn's spans.
func TestCurrent(t *testing.T) {
	log := conversation()
	whole := trace.Spans(thread, log, trace.Options{Content: true})
	if diff := cmp.Diff(whole[:5], trace.Spans(thread, trace.Current(log[:15]), trace.Options{Content: true})); diff != "" {
		t.Errorf("the first turn:\n%s", diff)
	}
	if diff := cmp.Diff(whole[6:], trace.Spans(thread, trace.Current(log), trace.Options{Content: true})); diff != "" {
		t.Errorf("the second turn:\n%s", diff)
	}
	if got := trace.Current(log[:1]); got != nil {
		t.Errorf("without a turn: %v", got)
	}
}

// Without content there is no text of the conversation in a span, and with it no
// secret.
func TestContent(t *testing.T) {
	text := func(o trace.Options) string {
		raw, err := json.Marshal(trace.Spans(thread, conversation(), o))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	plain := text(trace.Options{})
	for _, word := range []string{"hunter2", "quickly", "late", "words of a", "password"} {
		if strings.Contains(plain, word) {
			t.Errorf("a span holds %q", word)
		}
	}
	full := text(trace.Options{Content: true, Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }})
	for _, word := range []string{"the password is ***", "and quickly", "done, ***", `{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"deploy\",\"arguments\":{\"key\":\"***\"}}`} {
		if !strings.Contains(full, word) {
			t.Errorf("with content no span holds %q", word)
		}
	}
	if strings.Contains(full, "hunter2") || strings.Contains(full, "late") {
		t.Error("a span holds a secret, or what came after its end")
	}
}
