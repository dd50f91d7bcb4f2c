package agent

import (
	"testing"

	"nod/agent/policy"
	"nod/llm"
	"nod/memory"
)

// The binding of an approval is computed again: the tools may have changed.
func TestResumeBindsAnew(t *testing.T) {
	t.Parallel()
	entries := []memory.Entry{{Seq: 1, Body: memory.Opened{Turn: 1, Name: "1"}}, {Seq: 2, Body: memory.Step{Turn: 1, N: 1, Calls: []memory.Call{{ID: "c", Tool: "deploy", Args: "{}"}}}}}
	l := NewLog(entries, Claim{})
	bound := func(description string) string {
		d := &decision{agent: &Agent{Tools: []policy.Tool{{Tool: llm.Tool{Name: "deploy", Description: description}}}}, log: l, thread: l.Thread}
		return d.approval().Bound(l.Thread.Calls["c"])
	}
	before := bound("deploys")
	if !l.Resume(entries, Claim{}) {
		t.Fatal("it is the same log")
	}
	if bound("deploys, and deletes") == before {
		t.Error("it is bound to a tool that is not this one")
	}
}

// A log that was read before goes on under another claim, where it is the same one.
func TestResume(t *testing.T) {
	t.Parallel()
	log := func(first uint64, n int) (out []memory.Entry) {
		for i := range uint64(n) {
			out = append(out, memory.Entry{Seq: first + i, Body: memory.Ended{Turn: 1}})
		}
		return out
	}
	for name, tt := range map[string]struct {
		before, now []memory.Entry
		want        bool
	}{
		"nothing new":       {log(1, 3), log(1, 3), true},
		"two more":          {log(1, 3), log(1, 5), true},
		"nothing before":    {nil, log(1, 3), false},
		"shorter":           {log(1, 3), log(1, 2), false},
		"begins later":      {log(1, 3), log(2, 3), false},
		"another beginning": {log(1, 3), append(log(2, 1), log(3, 3)...), false},
		"a gap":             {log(1, 3), append(log(1, 2), log(4, 3)...), false},
	} {
		l := NewLog(tt.before, Claim{Token: "old"})
		l.Heard("p", 1)
		if got := l.Resume(tt.now, Claim{Token: "new"}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if tt.want && (!l.Equal(NewLog(tt.now, Claim{})) || l.claim.Token != "new" || l.silent != nil) {
			t.Errorf("%s: it is not the log as it is now", name)
		}
	}
}
